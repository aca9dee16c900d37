import type { App } from '../../api/app-type.ts';
import { ApiError } from '../../api/errors.ts';
import { NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import { PaymentRefused } from './payments.ts';
import { applyPaymentEvent, requirePayments } from './top-ups.ts';

/** `POST /webhooks/stripe`: what Stripe tells us. Public; its signature is what lets it in. */
export function paymentRoutes(app: App, context: AppContext): void {
  void app.register(async (scoped) => {
    // The signature is over the bytes as they came.
    scoped.removeContentTypeParser('application/json');
    scoped.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    scoped.post('/webhooks/stripe', { config: { scope: 'public' }, schema: { hide: true, querystring: NoQuery } }, async (request) => {
      const payments = requirePayments(context);
      const signature = request.headers['stripe-signature'];
      if (typeof signature !== 'string' || !Buffer.isBuffer(request.body)) throw new ApiError('invalid_parameter', 'This is no event of Stripe\'s: it has no Stripe-Signature.', { param: 'Stripe-Signature' });
      try {
        await applyPaymentEvent(context, payments.readEvent(request.body, signature, context.clock.now()));
      } catch (error) {
        if (error instanceof PaymentRefused) throw new ApiError('invalid_parameter', error.message, { param: 'Stripe-Signature', cause: error });
        throw error;
      }
      return { received: true };
    });
  });
}
