import type { Example } from './example.ts';

export const examples: Example[] = [
  { path: '/v1/usage', notFound: 'route_not_found', make: () => Promise.resolve(''), queries: { 'GET /v1/usage/summary': '?group_by=day' } },
];
