import { made, type Example } from './example.ts';

const KEY = { name: 'K', scopes: ['agents:read'] };

export const examples: Example[] = [
  { path: '/v1/api-keys', notFound: 'api_key_not_found', make: (api, key) => made(api, key, '/v1/api-keys', KEY), bodies: { 'POST /v1/api-keys': KEY } },
];
