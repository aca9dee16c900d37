import { made, type Example } from './example.ts';

const TOP_UP = { amount_micros: 5_000_000 };

export const examples: Example[] = [
  { path: '/v1/billing/top-ups', notFound: 'top_up_not_found', make: (api, key) => made(api, key, '/v1/billing/top-ups', TOP_UP), bodies: { 'POST /v1/billing/top-ups': TOP_UP } },
  { path: '/v1/billing', notFound: 'route_not_found', make: () => Promise.resolve(''), queries: { 'GET /v1/billing/statements': '?month=2026-11' } },
];
