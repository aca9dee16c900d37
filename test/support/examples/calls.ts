import { AGENT } from './agents.ts';
import { made, type Example } from './example.ts';

export const examples: Example[] = [
  {
    path: '/v1/calls', notFound: 'call_not_found',
    async make(api, key) {
      const agent_id = await made(api, key, '/v1/agents', AGENT);
      const session = await api.call('POST', '/v1/realtime/sessions', { key, body: { agent_id } });
      return String(session.body.call_id);
    },
  },
];
