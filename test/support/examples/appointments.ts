import { made, type Example } from './example.ts';

const APPOINTMENT = { client_name: 'Ada', phone_number: '+14155550123', date_time: '2026-12-01T10:00:00Z' };

export const examples: Example[] = [
  {
    path: '/v1/appointments', notFound: 'appointment_not_found',
    make: (api, key) => made(api, key, '/v1/appointments', APPOINTMENT),
    bodies: { 'POST /v1/appointments': APPOINTMENT },
    queries: { 'GET /v1/appointments/availability': `?agent_id=${'f'.repeat(24)}&from=2026-12-01T00:00:00Z&to=2026-12-02T00:00:00Z` },
  },
];
