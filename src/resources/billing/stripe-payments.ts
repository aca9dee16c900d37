import Stripe from 'stripe';
import { PaymentRefused, type Checkout, type CheckoutOrder, type PaymentEvent, type Payments } from './payments.ts';

export interface StripeOptions {
  secretKey: string;
  webhookSecret: string;
  /** Where Stripe is, without a trailing slash. */
  apiBase: string;
}

const MICROS_PER_CENT = 10_000;
const TIMEOUT_MS = 10_000;
const SIGNATURE_TOLERANCE_SECONDS = 300;

/** Stripe Checkout through Stripe's own library. */
export function stripePayments({ secretKey, webhookSecret, apiBase }: StripeOptions): Payments {
  const base = new URL(apiBase);
  const stripe = new Stripe(secretKey, {
    host: base.hostname, port: base.port || (base.protocol === 'https:' ? 443 : 80), protocol: base.protocol === 'https:' ? 'https' : 'http',
    timeout: TIMEOUT_MS, maxNetworkRetries: 1, telemetry: false,
  });
  return {
    openCheckout: (order) => openCheckout(stripe, order),
    readEvent(body, signature, nowMs) {
      let event: Stripe.Event;
      try {
        event = stripe.webhooks.constructEvent(body, signature, webhookSecret, SIGNATURE_TOLERANCE_SECONDS, undefined, nowMs);
      } catch (error) {
        throw new PaymentRefused('The event is not signed with our secret, or is too old.', { cause: error });
      }
      return { id: event.id, type: event.type, ...meaningOf(event) };
    },
  };
}

async function openCheckout(stripe: Stripe, { topUpId, accountId, amountMicros, returnUrl }: CheckoutOrder): Promise<Checkout> {
  const metadata = { top_up_id: topUpId, account_id: accountId };
  try {
    const session = await stripe.checkout.sessions.create({
      mode: 'payment',
      client_reference_id: topUpId,
      metadata,
      payment_intent_data: { metadata },
      line_items: [{ quantity: 1, price_data: { currency: 'usd', unit_amount: amountMicros / MICROS_PER_CENT, product_data: { name: 'Voice credit' } } }],
      success_url: returnUrl,
      cancel_url: returnUrl,
    }, { idempotencyKey: `top_up_${topUpId}` });
    if (session.url === null) throw new PaymentRefused('Stripe opened a checkout without an address.');
    return { sessionId: session.id, url: session.url, expiresAt: new Date(session.expires_at * 1000) };
  } catch (error) {
    // A fault of the order or of our key: the same request can never succeed.
    if (error instanceof Stripe.errors.StripeInvalidRequestError || error instanceof Stripe.errors.StripeAuthenticationError || error instanceof Stripe.errors.StripePermissionError) {
      throw new PaymentRefused('Stripe refused the checkout.', { cause: error });
    }
    throw error;
  }
}

type Meaning = PaymentEvent extends infer Each ? (Each extends PaymentEvent ? Omit<Each, 'id' | 'type'> : never) : never;

function meaningOf(event: Stripe.Event): Meaning {
  switch (event.type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded': return paid(event.data.object);
    case 'checkout.session.async_payment_failed': return about('failed', event.data.object);
    case 'checkout.session.expired': return about('expired', event.data.object);
    case 'charge.refunded': return refunded(event.data.object);
    default: return { kind: 'other' };
  }
}

/** Completed does not mean paid: a bank transfer arrives days later. */
function paid(session: Stripe.Checkout.Session): Meaning {
  const { id, client_reference_id: topUpId, payment_status: status, amount_total: cents, currency, payment_intent: intent } = session;
  if (topUpId === null || status !== 'paid' || cents === null || currency !== 'usd') return { kind: 'other' };
  return { kind: 'paid', topUpId, sessionId: id, paymentId: idOf(intent), amountMicros: cents * MICROS_PER_CENT };
}

function about(kind: 'failed' | 'expired', session: Stripe.Checkout.Session): Meaning {
  return session.client_reference_id === null ? { kind: 'other' } : { kind, topUpId: session.client_reference_id };
}

/** A charge has the metadata of the payment that made it: only ours name a top-up. */
function refunded({ amount_refunded: cents, currency, metadata }: Stripe.Charge): Meaning {
  const topUpId = metadata['top_up_id'];
  return topUpId === undefined || currency !== 'usd' ? { kind: 'other' } : { kind: 'refunded', topUpId, refundedMicros: cents * MICROS_PER_CENT };
}

function idOf(named: string | { id: string } | null): string | undefined {
  return typeof named === 'string' ? named : named?.id;
}
