import type { App } from '../../api/app-type.ts';
import { ApiError } from '../../api/errors.ts';
import type { Keyring } from '../../api/keyring.ts';
import { readPage, toPage } from '../../api/pagination.ts';
import type { Principal } from '../../api/principal.ts';
import { Deleted, IdParams, iso, NoBody, NoQuery } from '../../api/schemas.ts';
import type { CallsContext } from './actions.ts';
import type { LiveCalls } from './live-calls.ts';
import { presentCall } from './present.ts';
import { sendRecording } from './recording-reply.ts';
import { Call, CallList, CallLog, ListCallsQuery, RecordingQuery, Transcript, type TranscriptItem } from './schema.ts';
import { deleteCall, selectCall, selectCalls, selectLog, selectTranscript, type CallRow } from './store.ts';

export interface CallRoutesContext extends CallsContext { keyring: Keyring; liveCalls: LiveCalls }

/** /v1/calls: what was said, heard and decided in every call, and the end of a live one. */
export function callRoutes(app: App, context: CallRoutesContext): void {
  const { db, keyring, liveCalls, recordings } = context;

  app.get('/v1/calls', { config: { scope: 'calls:read' }, schema: { querystring: ListCallsQuery, response: { 200: CallList } } }, async ({ query, principal }) => {
    const { limit: _limit, starting_after: _after, ending_before: _before, ...filters } = query;
    const page = readPage(keyring, query, '/v1/calls', principal, filters);
    const rows = await selectCalls(db, principal.accountId, principal.livemode, filters, page);
    return toPage(keyring, page, rows, (row) => ({ atMs: row.created_at.getTime(), id: row.id }), presentCall);
  });

  app.get('/v1/calls/:id', { config: { scope: 'calls:read' }, schema: { params: IdParams, querystring: NoQuery, response: { 200: Call } } }, async ({ params, principal }) => (
    presentCall(await callOf(context, params.id, principal))
  ));

  app.get('/v1/calls/:id/transcript', { config: { scope: 'calls:read' }, schema: { params: IdParams, querystring: NoQuery, response: { 200: Transcript } } }, async ({ params, principal }) => {
    const call = await callOf(context, params.id, principal);
    return { object: 'call_transcript' as const, call_id: call.id, items: await selectTranscript<TranscriptItem>(db, call.id) };
  });

  app.get('/v1/calls/:id/log', { config: { scope: 'calls:read' }, schema: { params: IdParams, querystring: NoQuery, response: { 200: CallLog } } }, async ({ params, principal }) => {
    const call = await callOf(context, params.id, principal);
    const rows = await selectLog(db, call.id);
    const entries = rows.map(({ at, source, event, detail }) => ({ at: iso(at), source, event, ...(detail === null ? {} : { detail }) }));
    return { object: 'call_log' as const, call_id: call.id, entries };
  });

  app.get('/v1/calls/:id/recording', { config: { scope: 'calls:read' }, schema: { params: IdParams, querystring: RecordingQuery } }, async (request, reply) => {
    const call = await callOf(context, request.params.id, request.principal);
    const bytes = call.ended_at === null ? undefined : await recordings.size(call.id);
    if (bytes === undefined) throw new ApiError('recording_not_found', call.ended_at === null ? 'The call is live; its recording can be read once it has ended.' : undefined);
    return sendRecording(reply, request.headers.range, { bytes, read: (from, to) => recordings.read(call.id, from, to), name: `${call.id}.wav` });
  });

  app.post('/v1/calls/:id/hangup', { config: { scope: 'calls:write', recall: async ({ principal, params: { id = '' } }) => presentCall(await callOf(context, id, principal)) }, schema: { params: IdParams, body: NoBody, querystring: NoQuery, response: { 200: Call } } }, async ({ params, principal }) => {
    const call = await callOf(context, params.id, principal);
    if (call.ended_at !== null || !(await liveCalls.hangUp(call.id, 'api_hangup'))) throw new ApiError('call_not_in_progress');
    return presentCall(await callOf(context, params.id, principal));
  });

  app.delete('/v1/calls/:id', { config: { scope: 'calls:write' }, schema: { params: IdParams, querystring: NoQuery, response: { 200: Deleted } } }, async ({ params, principal }) => {
    const call = await callOf(context, params.id, principal);
    if (call.ended_at === null) throw new ApiError('call_in_progress');
    await recordings.delete(call.id);
    await deleteCall(db, call.id);
    context.events.forget(call.id);
    return { id: call.id, object: 'call', deleted: true as const };
  });
}

/** Another account's call answers like one that does not exist; one of the other mode says so. */
async function callOf(context: CallsContext, id: string, principal: Principal): Promise<CallRow> {
  const row = await selectCall(context.db, id);
  if (!row || row.account_id !== principal.accountId) throw new ApiError('call_not_found', undefined, { param: 'id' });
  if (row.livemode !== principal.livemode) throw new ApiError('key_mode_mismatch');
  return row;
}
