import type { Keyring } from '../api/keyring.ts';
import { pageSql, type PageRequest } from '../api/pagination.ts';
import type { Database, Queryable } from '../db/database.ts';
import { EVENT_IDS, type EventId } from './event.ts';

/** The account's one webhook configuration. */
export interface WebhookConfig { url: string | null; enabled: boolean; events: EventId[]; secret: string | undefined }

export interface DeliveryRow {
  id: string;
  event: string;
  url: string;
  attempt: number;
  status: 'succeeded' | 'failed';
  response_status: number | null;
  error: string | null;
  duration_ms: number;
  will_retry: boolean;
  occurred_at: Date;
  livemode: boolean;
}

interface ConfigRow { url: string | null; enabled: boolean; events: EventId[]; secret: Buffer | null }

/** How long records of attempts are kept. */
export const DELIVERY_MONTHS = 3;

const place = (accountId: string): string => `webhook:secret:${accountId}`;

/** An account that never configured webhooks is subscribed to everything, with no url to send it to. */
export async function readConfig(db: Queryable, keyring: Keyring, accountId: string): Promise<WebhookConfig> {
  const [row] = await db.query<ConfigRow>('SELECT url, enabled, events, secret FROM webhook WHERE account_id = $1', [accountId]);
  if (!row) return { url: null, enabled: true, events: [...EVENT_IDS], secret: undefined };
  return { ...row, secret: row.secret === null ? undefined : keyring.unseal(row.secret, place(accountId)) };
}

export async function writeConfig(db: Queryable, keyring: Keyring, accountId: string, config: WebhookConfig): Promise<void> {
  const sealed = config.secret === undefined ? null : keyring.seal(config.secret, place(accountId));
  await db.query(
    `INSERT INTO webhook (account_id, url, enabled, events, secret, updated_at) VALUES ($1, $2, $3, $4, $5, now())
     ON CONFLICT (account_id) DO UPDATE SET url = $2, enabled = $3, events = $4, secret = $5, updated_at = now()`,
    [accountId, config.url, config.enabled, config.events, sealed],
  );
}

export async function insertDelivery(db: Database, accountId: string, row: DeliveryRow): Promise<void> {
  await db.query(
    `INSERT INTO webhook_delivery (id, account_id, livemode, event, url, attempt, status, response_status, error, duration_ms, will_retry, occurred_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [row.id, accountId, row.livemode, row.event, row.url, row.attempt, row.status, row.response_status, row.error, row.duration_ms, row.will_retry, row.occurred_at],
  );
}

/** Attempts since `since`: what is older is past its time, deleted or not. */
export async function selectDeliveries(db: Queryable, accountId: string, status: string | undefined, since: Date, page: PageRequest): Promise<DeliveryRow[]> {
  const conditions = ['account_id = $1', 'occurred_at >= $2', ...(status === undefined ? [] : ['status = $3'])];
  const { sql, values } = pageSql(page, conditions, [accountId, since, ...(status === undefined ? [] : [status])], 'occurred_at');
  return db.query<DeliveryRow>(`SELECT * FROM webhook_delivery ${sql}`, values);
}

export async function findDelivery(db: Queryable, accountId: string, id: string): Promise<DeliveryRow | undefined> {
  const [row] = await db.query<DeliveryRow>('SELECT * FROM webhook_delivery WHERE account_id = $1 AND id = $2', [accountId, id]);
  return row;
}

/** The version that the account's oldest key was made with. */
export async function firstKeyVersion(db: Queryable, accountId: string): Promise<string | undefined> {
  const [row] = await db.query<{ service_version: string }>('SELECT service_version FROM api_key WHERE account_id = $1 ORDER BY created_at, id LIMIT 1', [accountId]);
  return row?.service_version;
}

/** At most `most` records of attempts before `before`; how many went. */
export async function deleteDeliveriesBefore(db: Queryable, before: Date, most: number): Promise<number> {
  const rows = await db.query('DELETE FROM webhook_delivery WHERE id IN (SELECT id FROM webhook_delivery WHERE occurred_at < $1 LIMIT $2) RETURNING id', [before, most]);
  return rows.length;
}
