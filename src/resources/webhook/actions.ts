import { ApiError } from '../../api/errors.ts';
import { noteEffect } from '../../api/idempotency.ts';
import type { Principal } from '../../api/principal.ts';
import { newToken } from '../../api/secrets.ts';
import type { AppContext } from '../../context.ts';
import type { Queryable } from '../../db/database.ts';
import { newId } from '../../db/id.ts';
import type { EventId } from '../../events/event.ts';
import { findDelivery, readConfig, writeConfig, type DeliveryRow, type WebhookConfig } from '../../events/webhook-store.ts';
import { lockAccount } from '../accounts/actions.ts';
import type { UpdateWebhook } from './schema.ts';

/** The configuration after a change; `newSecret` when the change made the first one. */
export interface ChangedWebhook { config: WebhookConfig; newSecret: string | undefined }

export function readWebhook(context: AppContext, accountId: string): Promise<WebhookConfig> {
  return readConfig(context.db, context.keyring, accountId);
}

/** Changes the fields that were sent; the first url makes the signing secret. Throws ApiError `unsafe_webhook_url`, `invalid_parameter`. */
export async function changeWebhook(context: AppContext, accountId: string, body: UpdateWebhook): Promise<ChangedWebhook> {
  if (typeof body.url === 'string') await requireSafeUrl(context, body.url);
  return context.db.transaction(async (transaction) => {
    await lockAccount(transaction, accountId);
    const before = await readConfig(transaction, context.keyring, accountId);
    const url = body.url === undefined ? before.url : body.url;
    const newSecret = url !== null && before.secret === undefined ? newToken('whsec_') : undefined;
    const config = { url, enabled: body.enabled ?? before.enabled, events: body.events ?? before.events, secret: newSecret ?? before.secret };
    await writeConfig(transaction, context.keyring, accountId, config);
    return { config, newSecret };
  });
}

/** A new signing secret; the old one stops working at once. */
export async function rotateWebhookSecret(context: AppContext, accountId: string): Promise<string> {
  const secret = newToken('whsec_');
  await context.db.transaction(async (transaction) => {
    await lockAccount(transaction, accountId);
    const before = await readConfig(transaction, context.keyring, accountId);
    await writeConfig(transaction, context.keyring, accountId, { ...before, secret });
  });
  return secret;
}

/** Sends one sample now; `id` names its record. Throws ApiError `webhook_not_configured`. */
export async function testWebhook(context: AppContext, principal: Principal, event: EventId, id: string): Promise<DeliveryRow> {
  const notConfigured = new ApiError('webhook_not_configured', 'Set a url with PATCH /v1/webhook first.');
  const { url } = await readConfig(context.db, context.keyring, principal.accountId);
  if (url === null) throw notConfigured;
  await noteEffect(context.db);
  const row = await context.webhooks.test({
    event, accountId: principal.accountId, livemode: principal.livemode, test: true, eventKey: `test:${newId()}`,
    data: { id: '0'.repeat(24), object: 'sample', note: 'A sample sent by POST /v1/webhook/test.' },
  }, id);
  if (!row) throw notConfigured;
  return row;
}

/** What an earlier test found. Throws ApiError `service_unavailable` when the process died before it could write that down. */
export async function requireTest(db: Queryable, principal: Principal, id: string): Promise<DeliveryRow> {
  const row = await findDelivery(db, principal.accountId, id);
  if (!row) throw new ApiError('service_unavailable', 'The service was restarted while the sample was on its way, so its answer is not known. Send another with a new Idempotency-Key.');
  return row;
}

async function requireSafeUrl(context: AppContext, url: string): Promise<void> {
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) throw new ApiError('invalid_parameter', 'url must be an http or https address.', { param: 'url' });
  const fault = await context.guard.fault(url);
  if (fault !== undefined) throw new ApiError('unsafe_webhook_url', `url ${fault}.`, { param: 'url' });
}
