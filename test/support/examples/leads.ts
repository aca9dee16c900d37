import { made, type Example } from './example.ts';

let line = 0;
export const LEAD = { name: 'Ada Lovelace', phone_number: '+14155550142' };
const next = () => ({ ...LEAD, phone_number: `+1415556${String(line++).padStart(4, '0')}` });

export const examples: Example[] = [
  {
    path: '/v1/leads', notFound: 'lead_not_found', make: (api, key) => made(api, key, '/v1/leads', next()),
    bodies: { 'POST /v1/leads': LEAD, 'POST /v1/leads/bulk': { leads: [LEAD] } },
  },
];
