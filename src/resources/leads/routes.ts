import type { App } from '../../api/app-type.ts';
import { ApiError } from '../../api/errors.ts';
import { readPage, toPage } from '../../api/pagination.ts';
import type { Recall } from '../../api/recall.ts';
import { Deleted, IdParams, NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import { changeLead, createLead, deleteLead, requireLead } from './actions.ts';
import { compileImportValidator } from './import-body.ts';
import { importLeads, recallImport } from './import.ts';
import { presentLead } from './present.ts';
import { CreateLead, ImportLeads, ImportQuery, Lead, LeadImport, LeadList, ListLeads, UpdateLead } from './schema.ts';
import { listLeadRows } from './store.ts';

const MAX_IMPORT_BYTES = 10 * 1024 * 1024;
const IMPORT = `At most 5000 leads, 10 MiB. A row that is wrong stands in \`errors\` and keeps none of the others out. Fires no events.

CSV has a header row, then a lead a row, with commas, semicolons or tabs between, in UTF-8. Columns: \`name\`, \`phone_number\`, \`tags\` (split at ; or |), \`email\`, \`timezone\`, \`do_not_call\` (true or false); every other column goes into \`fields\`. An empty cell says nothing. \`on_duplicate\` stands in the query.`;
const read = { scope: 'leads:read' } as const;
const write = { scope: 'leads:write' } as const;

/** `/v1/leads`. */
export function leadRoutes(app: App, context: AppContext): void {
  const { db, keyring } = context;
  const recall: Recall = async ({ principal, resourceId }) => presentLead(await requireLead(db, principal, resourceId));

  app.post('/v1/leads', {
    config: { ...write, recall, errors: ['invalid_phone_number', 'lead_exists'] },
    schema: { summary: 'Create a lead', description: 'Fires leadCreated.', body: CreateLead, querystring: NoQuery, response: { 201: Lead } },
  }, async (request, reply) => reply.code(201).send(presentLead(await createLead(context, request.principal, request.body, request.resourceId))));

  app.get('/v1/leads', {
    config: { ...read, errors: ['invalid_phone_number', 'invalid_cursor', 'conflicting_cursors'] },
    schema: { summary: 'List leads', querystring: ListLeads, response: { 200: LeadList } },
  }, async (request) => {
    const { limit: _limit, starting_after: _after, ending_before: _before, ...filters } = request.query;
    const page = readPage(keyring, request.query, 'leads', request.principal, filters);
    const rows = await listLeadRows(db, request.principal.accountId, request.principal.livemode, filters, page);
    return toPage(keyring, page, rows, (row) => ({ atMs: row.created_at.getTime(), id: row.id }), presentLead);
  });

  app.get('/v1/leads/:id', {
    config: { ...read, errors: ['lead_not_found'] },
    schema: { summary: 'Read a lead', params: IdParams, querystring: NoQuery, response: { 200: Lead } },
  }, async (request) => presentLead(await requireLead(db, request.principal, request.params.id)));

  app.patch('/v1/leads/:id', {
    config: { ...write, errors: ['invalid_phone_number', 'lead_not_found', 'lead_exists'] },
    schema: {
      summary: 'Change a lead', description: 'Only the fields sent change; null clears an optional one. The first qualified: true fires leadQualified.',
      params: IdParams, querystring: NoQuery, body: UpdateLead, response: { 200: Lead },
    },
  }, async (request) => presentLead(await changeLead(context, request.principal, request.params.id, request.body)));

  app.delete('/v1/leads/:id', {
    config: { ...write, errors: ['lead_not_found'] },
    schema: { summary: 'Delete a lead', params: IdParams, querystring: NoQuery, response: { 200: Deleted } },
  }, async (request) => {
    await deleteLead(context, request.principal, request.params.id);
    return { id: request.params.id, object: 'lead', deleted: true as const };
  });

  importRoute(app, context);
}

function importRoute(app: App, context: AppContext): void {
  const recall: Recall = ({ principal, resourceId }) => recallImport(context.db, principal, resourceId);

  app.post('/v1/leads/bulk', {
    bodyLimit: MAX_IMPORT_BYTES,
    config: { ...write, recall, textBodies: ['text/csv'], errors: ['invalid_csv', 'body_too_large', 'unsupported_media_type'] },
    validatorCompiler: compileImportValidator,
    schema: {
      summary: 'Import leads',
      description: IMPORT,
      querystring: ImportQuery,
      body: ImportLeads,
      response: { 201: LeadImport },
    },
  }, async (request, reply) => {
    const isCsv = request.mediaType === 'text/csv';
    if (!isCsv && typeof request.body === 'string') throw new ApiError('invalid_parameter', 'The body must be a JSON object.');
    const onDuplicate = request.body.on_duplicate ?? request.query.on_duplicate ?? 'skip';
    return reply.code(201).send(await importLeads(context, request.principal, request.body, onDuplicate, request.resourceId));
  });
}
