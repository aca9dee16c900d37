import { AGENT } from './agents.ts';
import { made, type Example } from './example.ts';

let line = 0;
const NOBODY = 'f'.repeat(24);

export const examples: Example[] = [
  {
    path: '/v1/campaigns', notFound: 'campaign_not_found',
    async make(api, key) {
      const agent_id = await made(api, key, '/v1/agents', AGENT);
      const lead_id = await made(api, key, '/v1/leads', { name: 'Grace', phone_number: `+1415557${String(line++).padStart(4, '0')}` });
      return made(api, key, '/v1/campaigns', { name: 'C', agent_id, lead_ids: [lead_id] });
    },
    bodies: { 'POST /v1/campaigns': { name: 'C', agent_id: NOBODY, lead_ids: [NOBODY] } },
  },
];
