import type { App } from '../../api/app-type.ts';
import { readPage, toPage } from '../../api/pagination.ts';
import type { Recall } from '../../api/recall.ts';
import { Deleted, IdParams, NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import { requireCall } from './actions.ts';
import { callCommandRoutes } from './command-routes.ts';
import { callContentRoutes } from './content-routes.ts';
import { eraseCall } from './erasure.ts';
import { placeCall, placerOf } from './placing.ts';
import { presentCall } from './present.ts';
import { Call, CallList, ListCallsQuery, PlaceCall, TestCall } from './schema.ts';
import { selectCalls } from './store.ts';

const PLACING_ERRORS = [
  'destination_not_allowed', 'agent_not_found', 'no_outbound_number', 'unsupported_language', 'no_trunk', 'key_mode_mismatch',
  'insufficient_credits', 'concurrency_limit', 'dialling_unavailable', 'invalid_phone_number',
] as const;

/** `/v1/calls`: calls are placed, looked at, steered while they live, and erased. */
export function callRoutes(app: App, context: AppContext): void {
  const { db, keyring } = context;
  const recall: Recall = async ({ principal, resourceId }) => presentCall(await requireCall(db, principal, resourceId));

  app.post('/v1/calls', {
    config: { scope: 'calls:write', rate: 'call', recall, errors: [...PLACING_ERRORS, 'invalid_metadata', 'phone_number_not_found', 'lead_not_found', 'unknown_model', 'conflicting_voice'] },
    schema: {
      summary: 'Place a call',
      description: 'The call is answered as `queued`; follow it with GET /v1/calls/{id}/events or the events outboundCall and callCompleted. In test mode neither trunk nor number is needed, nothing leaves the machine and nothing is charged.',
      body: PlaceCall, querystring: NoQuery, response: { 201: Call },
    },
  }, async ({ body, principal, resourceId }, reply) => reply.code(201).send(presentCall(await placeCall(context, placerOf(principal), body, { id: resourceId }))));

  app.post('/v1/agents/:id/test-call', {
    config: { scope: 'calls:write', rate: 'call', recall, errors: PLACING_ERRORS },
    schema: { summary: 'Place a test call', description: 'A call like any other, marked `test`.', params: IdParams, body: TestCall, querystring: NoQuery, response: { 201: Call } },
  }, async ({ body: { to }, params, principal, resourceId }, reply) => {
    const call = await placeCall(context, placerOf(principal), { to, agent_id: params.id }, { id: resourceId, test: true, agentParam: 'id' });
    return reply.code(201).send(presentCall(call));
  });

  app.get('/v1/calls', {
    config: { scope: 'calls:read' }, schema: { summary: 'List calls', querystring: ListCallsQuery, response: { 200: CallList } },
  }, async ({ query, principal }) => {
    const { limit: _limit, starting_after: _after, ending_before: _before, ...filters } = query;
    const page = readPage(keyring, query, '/v1/calls', principal, filters);
    const rows = await selectCalls(db, principal.accountId, principal.livemode, filters, page);
    return toPage(keyring, page, rows, (row) => ({ atMs: row.created_at.getTime(), id: row.id }), presentCall);
  });

  app.get('/v1/calls/:id', {
    config: { scope: 'calls:read', errors: ['call_not_found', 'key_mode_mismatch'] }, schema: { summary: 'Get a call', params: IdParams, querystring: NoQuery, response: { 200: Call } },
  }, async ({ params, principal }) => presentCall(await requireCall(db, principal, params.id)));

  app.delete('/v1/calls/:id', {
    config: { scope: 'calls:write', errors: ['call_not_found', 'key_mode_mismatch', 'call_in_progress'] },
    schema: {
      summary: 'Erase a call', description: 'Its log, transcript, recording, analysis and everything personal are gone for good; the usage rows that billed it stay.',
      params: IdParams, querystring: NoQuery, response: { 200: Deleted },
    },
  }, async ({ params, principal }) => {
    await eraseCall(context, principal, params.id);
    return { id: params.id, object: 'call', deleted: true as const };
  });

  callContentRoutes(app, context);
  callCommandRoutes(app, context);
}
