import { made, type Example } from './example.ts';

export const AGENT = { name: 'A', system_prompt: 'P', opening_message: 'Hello' };

export const examples: Example[] = [
  { path: '/v1/agents', notFound: 'agent_not_found', make: (api, key) => made(api, key, '/v1/agents', AGENT), bodies: { 'POST /v1/agents': AGENT } },
];
