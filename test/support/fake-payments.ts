import { PaymentRefused, type Payments } from '../../src/resources/billing/payments.ts';

/** Opens a page for everybody; nobody ever pays. */
export const NOBODY_PAYS: Payments = {
  openCheckout: ({ topUpId }) => Promise.resolve({ sessionId: `cs_${topUpId}`, url: `https://pay.example.com/${topUpId}`, expiresAt: new Date('2026-11-22T12:00:00.000Z') }),
  readEvent() {
    throw new PaymentRefused('Nobody pays, so nothing is signed.');
  },
};
