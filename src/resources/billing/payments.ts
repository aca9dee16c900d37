/** What billing needs of a payment provider. Owned here; an adapter implements it. */
export interface Payments {
  /**
   * Opens a page on which somebody pays. The same top-up again answers the same page.
   * Throws PaymentRefused when the provider will never take it, and any other error when it may be tried again.
   */
  openCheckout(order: CheckoutOrder): Promise<Checkout>;
  /** Reads what the provider sends to our webhook. Throws PaymentRefused when it is not signed by it, or not fresh. */
  readEvent(body: Buffer, signature: string, nowMs: number): PaymentEvent;
}

export interface CheckoutOrder {
  topUpId: string;
  accountId: string;
  /** Whole cents. Micro-USD. */
  amountMicros: number;
  /** Where the payer comes back to. */
  returnUrl: string;
}

export interface Checkout { sessionId: string; url: string; expiresAt: Date }

/** `id` is the provider's: the same again is the same event. */
export type PaymentEvent = { id: string; type: string } & (
  | { kind: 'paid'; topUpId: string; sessionId: string; paymentId: string | undefined; amountMicros: number }
  | { kind: 'expired' | 'failed'; topUpId: string }
  /** All that was given back of it so far. */
  | { kind: 'refunded'; topUpId: string; refundedMicros: number }
  /** Nothing of ours. */
  | { kind: 'other' }
);

/** The provider said no. */
export class PaymentRefused extends Error {
  override readonly name = 'PaymentRefused';
}
