import type { Keyring } from '../api/keyring.ts';
import { PUBLISHED_VERSIONS, type VersionHistory } from '../api/versions/history.ts';
import type { Database } from '../db/database.ts';
import { newId } from '../db/id.ts';
import type { AddressGuard } from './address-guard.ts';
import { DeliveryQueue } from './delivery-queue.ts';
import { payloadOf, type AccountEvent, type EventSink } from './event.ts';
import { PendingEvents } from './pending-events.ts';
import { postWebhook, type PostResult, type WebhookPost } from './webhook-post.ts';
import { firstKeyVersion, insertDelivery, readConfig, type DeliveryRow, type WebhookConfig } from './webhook-store.ts';

export interface WebhooksOptions {
  db: Database;
  keyring: Keyring;
  guard: AddressGuard;
  /** What is published, by default. */
  versions?: VersionHistory;
  log: { warn(detail: object, message: string): void };
  /** Real time by default; tests bring their own. */
  timers?: { now(): number; setTimeout(work: () => void, ms: number): unknown; clearTimeout(timer: never): void };
  post?: (post: WebhookPost, guard: AddressGuard, now: () => number) => Promise<PostResult>;
}

/** When the second and third attempts come, counted from the failure before. */
const RETRY_AFTER_MS = [5000, 30_000];
const REAL_TIMERS = { now: () => Date.now(), setTimeout: (work: () => void, ms: number) => setTimeout(work, ms), clearTimeout: (timer: never) => clearTimeout(timer) };

/** Tells accounts of events: best effort, at most three attempts, each recorded; pending retries live in this process only. */
export class Webhooks implements EventSink {
  readonly #options: WebhooksOptions;
  readonly #timers: NonNullable<WebhooksOptions['timers']>;
  readonly #queue = new DeliveryQueue();
  readonly #retries = new Set<unknown>();
  readonly #working = new Set<Promise<void>>();
  readonly #pending = new PendingEvents();
  #closed = false;

  constructor(options: WebhooksOptions) {
    this.#options = options;
    this.#timers = options.timers ?? REAL_TIMERS;
  }

  emit(event: AccountEvent): void {
    if (!this.#pending.add(event)) {
      this.#options.log.warn({ event: event.event, accountId: event.accountId, pending: this.#pending.size }, 'event dropped: too many wait for an attempt or a retry');
      return;
    }
    const at = new Date(this.#timers.now());
    this.#start(event, () => this.#payload(event, at), 1);
  }

  /** What is still to be sent about an erased object is not sent. */
  forget(objectId: string): void {
    this.#pending.forget(objectId);
  }

  /** One sample now, whatever the switch and the subscription say; the same code path as a real event. `id` names its record. Undefined: no url is set. */
  async test(event: AccountEvent, id = newId()): Promise<DeliveryRow | undefined> {
    const config = await readConfig(this.#options.db, this.#options.keyring, event.accountId);
    if (config.url === null) return undefined;
    return this.#attempt(event, await this.#payload(event, new Date(this.#timers.now())), config.url, config.secret, 1, { id, retries: false });
  }

  /** Ends pending retries and waits for what is on its way. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#retries) this.#timers.clearTimeout(timer as never);
    await Promise.all(this.#working);
  }

  /** In the version of the account's first key: what its receiver was written for. */
  async #payload(event: AccountEvent, at: Date): Promise<string> {
    const { db, versions = PUBLISHED_VERSIONS } = this.#options;
    const payload = payloadOf(event, at);
    if (versions.versions.length === 1) return payload;
    const version = await firstKeyVersion(db, event.accountId);
    return version === undefined || version === versions.current ? payload : JSON.stringify(versions.downgradeEvent(version, JSON.parse(payload) as Record<string, unknown>));
  }

  #start(event: AccountEvent, body: () => Promise<string>, attempt: number): void {
    const work = this.#begin(event, body, attempt).catch((error: unknown) => {
      this.#pending.delete(event);
      this.#options.log.warn({ event: event.event, accountId: event.accountId, error: String(error) }, 'an event could not be sent');
    });
    this.#working.add(work);
    void work.finally(() => this.#working.delete(work));
  }

  /** Reads the configuration for each attempt: a retry is signed with the secret that is valid by then. */
  async #begin(event: AccountEvent, body: () => Promise<string>, attempt: number): Promise<void> {
    const config = await readConfig(this.#options.db, this.#options.keyring, event.accountId);
    if (config.url === null || !config.enabled || !config.events.includes(event.event)) this.#pending.delete(event);
    else await this.#enqueue(event, await body(), config, attempt);
  }

  #enqueue(event: AccountEvent, body: string, config: WebhookConfig, attempt: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const url = config.url ?? '';
    const taken = this.#queue.add(new URL(url).host, async () => {
      try {
        if (!this.#pending.has(event)) return;
        const row = await this.#attempt(event, body, url, config.secret, attempt, { id: newId(), retries: true });
        if (row.will_retry) this.#retryLater(event, body, attempt);
        else this.#pending.delete(event);
      } catch (error) {
        this.#pending.delete(event);
        this.#options.log.warn({ event: event.event, error: String(error) }, 'a webhook attempt could not be recorded');
      } finally {
        resolve();
      }
    });
    if (!taken) {
      this.#pending.delete(event);
      this.#options.log.warn({ event: event.event, accountId: event.accountId, pending: this.#queue.size }, 'event dropped: too many deliveries are pending');
      resolve();
    }
    return promise;
  }

  #retryLater(event: AccountEvent, body: string, attempt: number): void {
    if (this.#closed || !this.#pending.has(event)) return;
    const timer = this.#timers.setTimeout(() => {
      this.#retries.delete(timer);
      this.#start(event, () => Promise.resolve(body), attempt + 1);
    }, RETRY_AFTER_MS[attempt - 1] ?? 0);
    this.#retries.add(timer);
  }

  async #attempt(event: AccountEvent, body: string, url: string, secret: string | undefined, attempt: number, { id, retries }: { id: string; retries: boolean }): Promise<DeliveryRow> {
    const at = new Date(this.#timers.now());
    const post = this.#options.post ?? postWebhook;
    const result = await post({ url, body, secret, event: event.event, attempt, deliveryId: id, at }, this.#options.guard, this.#timers.now);
    const row: DeliveryRow = {
      id,
      livemode: event.livemode,
      event: event.event,
      url,
      attempt,
      status: result.succeeded ? 'succeeded' : 'failed',
      response_status: result.responseStatus,
      error: result.succeeded ? null : result.error,
      duration_ms: result.durationMs,
      will_retry: retries && !result.succeeded && result.mayRetry && attempt <= RETRY_AFTER_MS.length && !this.#closed,
      occurred_at: at,
    };
    await insertDelivery(this.#options.db, event.accountId, row);
    return row;
  }
}
