import { AGENT } from './agents.ts';
import { made, type Example } from './example.ts';

export const CALLEE = '+15005550001';

export const examples: Example[] = [
  {
    path: '/v1/calls', notFound: 'call_not_found',
    async make(api, key) {
      const agent_id = await made(api, key, '/v1/agents', AGENT);
      const session = await api.call('POST', '/v1/realtime/sessions', { key, body: { agent_id } });
      return String(session.body.call_id);
    },
    bodies: {
      'POST /v1/calls': { to: CALLEE, agent_id: 'f'.repeat(24) },
      'POST /v1/calls/:id/say': { text: 'Hello' },
      'POST /v1/calls/:id/context': { text: 'The caller is Ada.' },
      'POST /v1/calls/:id/dtmf': { digits: '1' },
      'POST /v1/calls/:id/transfer': { to: CALLEE },
    },
  },
  {
    path: '/v1/agents/:id/test-call', notFound: 'agent_not_found', make: (api, key) => made(api, key, '/v1/agents', AGENT),
    bodies: { 'POST /v1/agents/:id/test-call': { to: CALLEE } },
  },
  { path: '/v1/realtime/sessions', notFound: 'realtime_session_not_found', make: () => Promise.reject(new Error('has no route with an id')), bodies: { 'POST /v1/realtime/sessions': { agent_id: 'f'.repeat(24) } } },
];
