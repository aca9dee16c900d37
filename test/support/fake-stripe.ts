import { createHmac, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type Stripe from 'stripe';

/**
 * Stripe's Checkout as its API reference has it: refuses a wrong key, a body that is not form-encoded, parameters it does not
 * know and those that are missing; keeps idempotency keys; signs what it sends. Stripe's own library is what talks to it.
 */

type Session = Pick<Stripe.Checkout.Session,
  'id' | 'object' | 'amount_total' | 'cancel_url' | 'client_reference_id' | 'created' | 'currency' | 'expires_at' | 'livemode' | 'metadata' | 'mode' | 'payment_intent' | 'payment_status' | 'status' | 'success_url' | 'url'>;
type Charge = Pick<Stripe.Charge, 'id' | 'object' | 'amount' | 'amount_refunded' | 'currency' | 'metadata' | 'payment_intent' | 'refunded'>;
export interface SentEvent { id: string; object: 'event'; api_version: string; created: number; livemode: boolean; pending_webhooks: number; type: string; data: { object: Session | Charge } }

const KNOWN = [/^mode$/, /^client_reference_id$/, /^success_url$/, /^cancel_url$/, /^metadata\[\w+\]$/, /^payment_intent_data\[metadata\]\[\w+\]$/, /^line_items\[0\]\[(quantity|price_data\]\[(currency|unit_amount|product_data\]\[name))\]$/];
const REQUIRED = ['mode', 'success_url', 'line_items[0][quantity]', 'line_items[0][price_data][currency]', 'line_items[0][price_data][unit_amount]', 'line_items[0][price_data][product_data][name]'];
const CENTS = 'line_items[0][price_data][unit_amount]';
const DAY_SECONDS = 86_400;

interface Reply { status: number; answer: object; headers?: Record<string, string> }

export class FakeStripe {
  readonly apiBase: string;
  readonly sessions = new Map<string, Session>();
  /** Requests that kept the rules, replays too. */
  readonly requests: { idempotencyKey: string; form: URLSearchParams }[] = [];
  /** Answers this status to the next requests. */
  readonly faults: number[] = [];
  readonly #server: Server;
  readonly #options: { secretKey: string; webhookSecret: string; nowMs: () => number };
  readonly #answers = new Map<string, { body: string; session: Session }>();

  private constructor(server: Server, options: { secretKey: string; webhookSecret: string; nowMs: () => number }) {
    this.#server = server;
    this.#options = options;
    this.apiBase = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(options: { secretKey: string; webhookSecret: string; nowMs: () => number }): Promise<FakeStripe> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const fake = new FakeStripe(server, options);
    server.on('request', (request, response) => void fake.#serve(request, response));
    return fake;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Somebody pays; `unpaid`: by a bank transfer that has not arrived. */
  complete(sessionId: string, paymentStatus: 'paid' | 'unpaid' = 'paid'): SentEvent {
    return this.#event('checkout.session.completed', this.#change(sessionId, { status: 'complete', payment_status: paymentStatus, payment_intent: `pi_${sessionId}`, url: null }));
  }

  /** The bank transfer has arrived, or has not. */
  asyncPayment(sessionId: string, outcome: 'succeeded' | 'failed'): SentEvent {
    return this.#event(`checkout.session.async_payment_${outcome}`, this.#change(sessionId, outcome === 'succeeded' ? { payment_status: 'paid' } : {}));
  }

  expire(sessionId: string): SentEvent {
    return this.#event('checkout.session.expired', this.#change(sessionId, { status: 'expired', url: null }));
  }

  /** `cents` in all have now been given back. */
  refund(sessionId: string, cents: number): SentEvent {
    const { amount_total: amount, metadata, payment_intent } = this.#change(sessionId, {});
    return this.#event('charge.refunded', {
      id: `ch_${sessionId}`, object: 'charge', amount: amount ?? 0, amount_refunded: cents, currency: 'usd', metadata: metadata ?? {}, payment_intent, refunded: cents === amount,
    });
  }

  /** The body and header of a delivery; `secret` and `atMs` for those that lie. */
  sign(event: SentEvent, { secret = this.#options.webhookSecret, atMs = this.#options.nowMs() }: { secret?: string; atMs?: number } = {}): { raw: string; headers: Record<string, string> } {
    const raw = JSON.stringify(event, null, 2);
    const seconds = Math.floor(atMs / 1000);
    const signature = createHmac('sha256', secret).update(`${seconds}.${raw}`).digest('hex');
    return { raw, headers: { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': `t=${seconds},v1=${signature},v0=${'0'.repeat(64)}` } };
  }

  #event(type: string, object: Session | Charge): SentEvent {
    return { id: `evt_${randomBytes(12).toString('hex')}`, object: 'event', api_version: '2026-01-28', created: this.#seconds(), livemode: false, pending_webhooks: 1, type, data: { object } };
  }

  #change(sessionId: string, change: Partial<Session>): Session {
    const session = this.sessions.get(sessionId);
    if (!session) throw new Error(`There is no session ${sessionId}.`);
    Object.assign(session, change);
    return { ...session };
  }

  #seconds(): number {
    return Math.floor(this.#options.nowMs() / 1000);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { status, answer, headers } = this.#answer(request, body);
    response.writeHead(status, { 'content-type': 'application/json', 'request-id': `req_${randomBytes(7).toString('hex')}`, ...headers }).end(JSON.stringify(answer));
  }

  #answer(request: IncomingMessage, body: string): Reply {
    const { method, url, headers } = request;
    if (headers.authorization !== `Bearer ${this.#options.secretKey}`) return refuse(401, 'invalid_request_error', 'Invalid API Key provided');
    const fault = this.faults.shift();
    if (fault !== undefined) return { ...refuse(fault, 'api_error', 'An error occurred'), headers: { 'stripe-should-retry': 'false' } };
    if (method !== 'POST' || url !== '/v1/checkout/sessions') return refuse(404, 'invalid_request_error', `Unrecognized request URL (${method}: ${url})`);
    if (headers['content-type'] !== 'application/x-www-form-urlencoded') return refuse(400, 'invalid_request_error', 'Invalid content type');
    const idempotencyKey = String(headers['idempotency-key'] ?? '');
    const known = this.#answers.get(idempotencyKey);
    if (known && known.body !== body) return refuse(400, 'idempotency_error', 'Keys for idempotent requests can only be used with the same parameters they were first used with.');
    const form = new URLSearchParams(body);
    const refusal = refusalOf(form);
    if (refusal) return refusal;
    this.requests.push({ idempotencyKey, form });
    if (known) return { status: 200, answer: known.session, headers: { 'idempotent-replayed': 'true' } };
    const session = this.#open(form, Number(form.get(CENTS)));
    if (idempotencyKey !== '') this.#answers.set(idempotencyKey, { body, session: { ...session } });
    return { status: 200, answer: session };
  }

  #open(form: URLSearchParams, cents: number): Session {
    const id = `cs_test_${randomBytes(20).toString('hex')}`;
    const metadata = Object.fromEntries([...form].flatMap(([name, value]) => {
      const key = /^metadata\[(\w+)\]$/.exec(name)?.[1];
      return key === undefined ? [] : [[key, value]];
    }));
    const session: Session = {
      id, object: 'checkout.session', amount_total: cents * Number(form.get('line_items[0][quantity]')), cancel_url: form.get('cancel_url'), client_reference_id: form.get('client_reference_id'),
      created: this.#seconds(), currency: form.get('line_items[0][price_data][currency]'), expires_at: this.#seconds() + DAY_SECONDS, livemode: false, metadata, mode: 'payment',
      payment_intent: null, payment_status: 'unpaid', status: 'open', success_url: form.get('success_url'), url: `https://checkout.stripe.com/c/pay/${id}`,
    };
    this.sessions.set(id, session);
    return session;
  }
}

function refuse(status: number, type: string, message: string, param?: string): Reply {
  return { status, answer: { error: { type, message, ...(param === undefined ? {} : { param }) } } };
}

/** What is wrong with the parameters, if anything is. */
function refusalOf(form: URLSearchParams): Reply | undefined {
  const unknown = [...form.keys()].find((name) => !KNOWN.some((pattern) => pattern.test(name)));
  if (unknown !== undefined) return refuse(400, 'invalid_request_error', `Received unknown parameter: ${unknown}`, unknown);
  const missing = REQUIRED.find((name) => !form.has(name));
  if (missing !== undefined) return refuse(400, 'invalid_request_error', `Missing required param: ${missing}.`, missing);
  const cents = Number(form.get(CENTS));
  return Number.isInteger(cents) && cents >= 50 && cents <= 99_999_999 ? undefined : refuse(400, 'invalid_request_error', 'Invalid integer', CENTS);
}
