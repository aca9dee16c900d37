import { made, type Example } from './example.ts';

let line = 0;
const number = (): string => `+1415555${String(line++).padStart(4, '0')}`;
export const TRUNK = { name: 'T', allowed_addresses: ['10.0.0.0/8'] };

export const examples: Example[] = [
  { path: '/v1/sip-trunks', notFound: 'sip_trunk_not_found', make: (api, key) => made(api, key, '/v1/sip-trunks', TRUNK), bodies: { 'POST /v1/sip-trunks': TRUNK } },
  {
    path: '/v1/phone-numbers', notFound: 'phone_number_not_found',
    make: (api, key) => made(api, key, '/v1/phone-numbers', { phone_number: number() }),
    bodies: { 'POST /v1/phone-numbers': { phone_number: '+14155550199' } },
  },
];
