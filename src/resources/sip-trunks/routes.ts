import type { App } from '../../api/app-type.ts';
import { readPage, toPage } from '../../api/pagination.ts';
import type { Recall } from '../../api/recall.ts';
import { Deleted, IdParams, iso, NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import { settingsOf } from './draft.ts';
import { changeTrunk, createTrunk, deleteTrunk, requireTrunk } from './actions.ts';
import { CreateSipTrunk, ListSipTrunks, SipTrunk, SipTrunkList, UpdateSipTrunk } from './schema.ts';
import { listTrunkRows, type SipTrunkRow } from './store.ts';

/** `/v1/sip-trunks`: who may call in, and who carries calls out. */
export function sipTrunkRoutes(app: App, context: AppContext): void {
  const { db, keyring } = context;
  const read = { scope: 'sip_trunks:read' } as const;
  const write = { scope: 'sip_trunks:write' } as const;

  const recall: Recall = async ({ principal, resourceId }) => present(await requireTrunk(db, principal, resourceId));

  app.post('/v1/sip-trunks', { config: { ...write, recall }, schema: { summary: 'Create a SIP trunk', body: CreateSipTrunk, querystring: NoQuery, response: { 201: SipTrunk } } }, async (request, reply) =>
    reply.code(201).send(present(await createTrunk(context, request.principal, request.body, request.resourceId))));

  app.get('/v1/sip-trunks', { config: read, schema: { summary: 'List SIP trunks', querystring: ListSipTrunks, response: { 200: SipTrunkList } } }, async (request) => {
    const page = readPage(keyring, request.query, 'sip-trunks', request.principal);
    const rows = await listTrunkRows(db, request.principal.accountId, request.principal.livemode, page);
    return toPage(keyring, page, rows, (row) => ({ atMs: row.created_at.getTime(), id: row.id }), present);
  });

  app.get('/v1/sip-trunks/:id', { config: read, schema: { summary: 'Read a SIP trunk', params: IdParams, querystring: NoQuery, response: { 200: SipTrunk } } }, async (request) =>
    present(await requireTrunk(db, request.principal, request.params.id)));

  app.patch('/v1/sip-trunks/:id', { config: write, schema: { summary: 'Change a SIP trunk', params: IdParams, querystring: NoQuery, body: UpdateSipTrunk, response: { 200: SipTrunk } } }, async (request) =>
    present(await changeTrunk(context, request.principal, request.params.id, request.body)));

  app.delete('/v1/sip-trunks/:id', { config: { ...write, errors: ['sip_trunk_in_use'] }, schema: { summary: 'Delete a SIP trunk', params: IdParams, querystring: NoQuery, response: { 200: Deleted } } }, async (request) => {
    await deleteTrunk(context, request.principal, request.params.id);
    return { id: request.params.id, object: 'sip_trunk', deleted: true as const };
  });
}

function present(row: SipTrunkRow): SipTrunk {
  return {
    id: row.id, object: 'sip_trunk', livemode: row.livemode, name: row.name, direction: row.direction, ...settingsOf(row.settings), password_set: row.password_set,
    registration: row.registration, allowed_addresses: row.allowed_addresses, codecs: row.codecs, dtmf_mode: row.dtmf_mode,
    max_concurrent_calls: row.max_concurrent_calls, status: row.enabled ? (row.health ?? 'ok') : 'disabled', last_ok_at: iso(row.last_ok_at), rtt_ms: row.rtt_ms,
    created_at: iso(row.created_at), updated_at: iso(row.updated_at),
  };
}
