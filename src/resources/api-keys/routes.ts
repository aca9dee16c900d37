import type { App } from '../../api/app-type.ts';
import { listOf, readPage, toPage } from '../../api/pagination.ts';
import type { Recall } from '../../api/recall.ts';
import { Deleted, IdParams, iso, NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import { createApiKey, requireApiKey, revokeApiKey, rotateApiKey, type NewApiKey } from './actions.ts';
import { ApiKey, ApiKeyWithSecret, CreateApiKey, ListApiKeys } from './schema.ts';
import { listApiKeyRows, type ApiKeyRow } from './store.ts';

/** `/v1/api-keys`: create, list, read, rotate, revoke. */
export function apiKeyRoutes(app: App, context: AppContext): void {
  const { db, keyring } = context;
  const read = { scope: 'api_keys:read' } as const;
  const write = { scope: 'api_keys:write' } as const;

  // The secret was shown in the first answer, or to nobody: a key whose secret was lost is rotated.
  const recall: Recall = async ({ principal, resourceId }) => ({ ...present(await requireApiKey(db, principal, resourceId)), secret: null, secret_already_shown: true });

  app.post('/v1/api-keys', { config: { ...write, recall, errors: ['scope_escalation', 'key_mode_mismatch'] }, schema: { summary: 'Create an API key', description: 'The secret is in this answer only; the service keeps a keyed hash of it. A key cannot give scopes that it does not hold, nor make a key of the other mode. The new key keeps the service version that is current now.', body: CreateApiKey, querystring: NoQuery, response: { 201: ApiKeyWithSecret } } }, async (request, reply) =>
    reply.code(201).send(withSecret(await createApiKey(context, request.principal, request.body, request.resourceId))));

  app.get('/v1/api-keys', { config: read, schema: { summary: 'List API keys', description: 'Keys of the calling key\'s mode, revoked ones included.', querystring: ListApiKeys, response: { 200: listOf(ApiKey) } } }, async (request) => {
    const page = readPage(keyring, request.query, 'api-keys', request.principal);
    const rows = await listApiKeyRows(db, request.principal.accountId, request.principal.livemode, page);
    return toPage(keyring, page, rows, (row) => ({ atMs: row.created_at.getTime(), id: row.id }), present);
  });

  app.get('/v1/api-keys/:id', { config: read, schema: { summary: 'Read an API key', params: IdParams, querystring: NoQuery, response: { 200: ApiKey } } }, async (request) =>
    present(await requireApiKey(db, request.principal, request.params.id)));

  app.post('/v1/api-keys/:id/rotate', { config: { ...write, recall, errors: ['scope_escalation', 'api_key_already_rotated', 'api_key_revoked'] }, schema: { summary: 'Rotate an API key', description: 'Issues a replacement with the same name, scopes and service version. The old key keeps working for 24 hours.', params: IdParams, querystring: NoQuery, response: { 201: ApiKeyWithSecret } } }, async (request, reply) =>
    reply.code(201).send(withSecret(await rotateApiKey(context, request.principal, request.params.id, request.resourceId))));

  app.delete('/v1/api-keys/:id', { config: write, schema: { summary: 'Revoke an API key', description: 'Works at once, without a grace period.', params: IdParams, querystring: NoQuery, response: { 200: Deleted } } }, async (request) => {
    await revokeApiKey(context, request.principal, request.params.id);
    return { id: request.params.id, object: 'api_key', deleted: true as const };
  });
}

function present(row: ApiKeyRow): ApiKey {
  return {
    id: row.id, object: 'api_key', name: row.name, mode: row.livemode ? 'live' : 'test', livemode: row.livemode, prefix: row.prefix,
    scopes: row.scopes, service_version: row.service_version, created_at: iso(row.created_at), last_used_at: iso(row.last_used_at),
    expires_at: iso(row.expires_at), revoked_at: iso(row.revoked_at), rotated_from: row.rotated_from,
  };
}

function withSecret({ row, secret }: NewApiKey): ApiKey & { secret: string } {
  return { ...present(row), secret };
}
