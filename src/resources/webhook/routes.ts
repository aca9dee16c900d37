import type { App } from '../../api/app-type.ts';
import { readPage, toPage } from '../../api/pagination.ts';
import { iso, NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import { DELIVERY_MONTHS, selectDeliveries, type DeliveryRow, type WebhookConfig } from '../../events/webhook-store.ts';
import { monthsAgo } from '../../jobs/retention.ts';
import { changeWebhook, readWebhook, requireTest, rotateWebhookSecret, testWebhook } from './actions.ts';
import { ListDeliveries, TestWebhook, UpdateWebhook, Webhook, WebhookDelivery, WebhookDeliveryList, WebhookSecret } from './schema.ts';

/** `/v1/webhook`: where the account's events go, and how that went. */
export function webhookRoutes(app: App, context: AppContext): void {
  const { db, keyring, clock } = context;
  const read = { scope: 'webhooks:read' } as const;
  const write = { scope: 'webhooks:write' } as const;

  app.get('/v1/webhook', { config: read, schema: { summary: 'Read the webhook configuration', description: 'Never the secret: `secret_set` says whether there is one.', querystring: NoQuery, response: { 200: Webhook } } }, async (request) =>
    present(await readWebhook(context, request.principal.accountId)));

  app.patch('/v1/webhook', { config: { ...write, errors: ['unsafe_webhook_url'] }, schema: { summary: 'Change the webhook configuration', description: 'The first `url` makes the signing secret, which is in that answer only. `events` replaces the whole list; `url: null` clears the address. An address in loopback, link-local or private space is refused, here and again at each delivery.', querystring: NoQuery, body: UpdateWebhook, response: { 200: Webhook } } }, async (request) => {
    const { config, newSecret } = await changeWebhook(context, request.principal.accountId, request.body);
    return { ...present(config), ...(newSecret === undefined ? {} : { secret: newSecret }) };
  });

  app.post('/v1/webhook/rotate-secret', { config: { ...write, recall: async () => ({ object: 'webhook_secret', secret: null, secret_already_shown: true }) }, schema: { summary: 'Rotate the signing secret', description: 'The old secret stops working at once.', querystring: NoQuery, response: { 200: WebhookSecret } } }, async (request) =>
    ({ object: 'webhook_secret' as const, secret: await rotateWebhookSecret(context, request.principal.accountId) }));

  app.get('/v1/webhook/deliveries', { config: read, schema: { summary: 'List webhook deliveries', description: 'One record per attempt, newest first, kept for three months.', querystring: ListDeliveries, response: { 200: WebhookDeliveryList } } }, async (request) => {
    const { status } = request.query;
    const page = readPage(keyring, request.query, 'webhook-deliveries', { accountId: request.principal.accountId }, { status });
    const rows = await selectDeliveries(db, request.principal.accountId, status, monthsAgo(DELIVERY_MONTHS)(new Date(clock.now())), page);
    return toPage(keyring, page, rows, (row) => ({ atMs: row.occurred_at.getTime(), id: row.id }), presentDelivery);
  });

  app.post('/v1/webhook/test', { config: { ...write, recall: async ({ principal, resourceId }) => presentDelivery(await requireTest(db, principal, resourceId)), errors: ['webhook_not_configured'] }, schema: { summary: 'Send a sample event', description: 'Sends one sample now, with fake data and `test: true`, whatever `enabled` and `events` say, and answers how it went.', querystring: NoQuery, body: TestWebhook, response: { 200: WebhookDelivery } } }, async (request) =>
    presentDelivery(await testWebhook(context, request.principal, request.body.event, request.resourceId)));
}

function present({ url, enabled, events, secret }: WebhookConfig): Webhook {
  return { object: 'webhook', url, enabled, events, secret_set: secret !== undefined };
}

function presentDelivery(row: DeliveryRow): WebhookDelivery {
  return {
    id: row.id, object: 'webhook_delivery', event: row.event, url: row.url, attempt: row.attempt, status: row.status, response_status: row.response_status,
    error: row.error ?? '', duration_ms: row.duration_ms, will_retry: row.will_retry, livemode: row.livemode, occurred_at: iso(row.occurred_at),
  };
}
