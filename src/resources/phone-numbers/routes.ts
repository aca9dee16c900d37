import type { App } from '../../api/app-type.ts';
import { readPage, toPage } from '../../api/pagination.ts';
import type { Recall } from '../../api/recall.ts';
import { Deleted, IdParams, iso, NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import { changePhoneNumber, createPhoneNumber, deletePhoneNumber } from './actions.ts';
import { requirePhoneNumber } from './lookup.ts';
import { CreatePhoneNumber, ListPhoneNumbers, PhoneNumber, PhoneNumberList, UpdatePhoneNumber } from './schema.ts';
import { listPhoneNumberRows, type PhoneNumberRow } from './store.ts';

/** `/v1/phone-numbers`. */
export function phoneNumberRoutes(app: App, context: AppContext): void {
  const { db, keyring } = context;
  const read = { scope: 'phone_numbers:read' } as const;
  const write = { scope: 'phone_numbers:write' } as const;

  const recall: Recall = async ({ principal, resourceId }) => present(await requirePhoneNumber(db, principal, resourceId));

  app.post('/v1/phone-numbers', { config: { ...write, recall, errors: ['sip_trunk_not_found', 'agent_not_found', 'phone_number_exists'] }, schema: { summary: 'Add a phone number', body: CreatePhoneNumber, querystring: NoQuery, response: { 201: PhoneNumber } } }, async (request, reply) =>
    reply.code(201).send(present(await createPhoneNumber(context, request.principal, request.body, request.resourceId))));

  app.get('/v1/phone-numbers', { config: read, schema: { summary: 'List phone numbers', querystring: ListPhoneNumbers, response: { 200: PhoneNumberList } } }, async (request) => {
    const page = readPage(keyring, request.query, 'phone-numbers', request.principal);
    const rows = await listPhoneNumberRows(db, request.principal.accountId, request.principal.livemode, page);
    return toPage(keyring, page, rows, (row) => ({ atMs: row.created_at.getTime(), id: row.id }), present);
  });

  app.get('/v1/phone-numbers/:id', { config: read, schema: { summary: 'Read a phone number', params: IdParams, querystring: NoQuery, response: { 200: PhoneNumber } } }, async (request) =>
    present(await requirePhoneNumber(db, request.principal, request.params.id)));

  app.patch('/v1/phone-numbers/:id', { config: { ...write, errors: ['sip_trunk_not_found', 'agent_not_found'] }, schema: { summary: 'Change a phone number', params: IdParams, querystring: NoQuery, body: UpdatePhoneNumber, response: { 200: PhoneNumber } } }, async (request) =>
    present(await changePhoneNumber(context, request.principal, request.params.id, request.body)));

  app.delete('/v1/phone-numbers/:id', { config: { ...write, errors: ['phone_number_in_use'] }, schema: { summary: 'Remove a phone number', params: IdParams, querystring: NoQuery, response: { 200: Deleted } } }, async (request) => {
    await deletePhoneNumber(context, request.principal, request.params.id);
    return { id: request.params.id, object: 'phone_number', deleted: true as const };
  });
}

function present(row: PhoneNumberRow): PhoneNumber {
  return {
    id: row.id, object: 'phone_number', livemode: row.livemode, phone_number: row.phone_number, label: row.label, sip_trunk_id: row.sip_trunk_id,
    agent_id: row.agent_id, outbound_enabled: row.outbound_enabled, fallback_number: row.fallback_number, status: statusOf(row),
    created_at: iso(row.created_at), updated_at: iso(row.updated_at),
  };
}

function statusOf(row: PhoneNumberRow): PhoneNumber['status'] {
  if (row.sip_trunk_id === null) return 'no_trunk';
  return row.agent_id === null ? 'no_agent' : 'active';
}
