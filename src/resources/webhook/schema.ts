import Type, { type Static } from 'typebox';
import { listOf, PAGE_PARAMETERS } from '../../api/pagination.ts';
import { Nullable, NullableInteger, NullableString, OneOf, Timestamp } from '../../api/schemas.ts';
import { EVENT_IDS } from '../../events/event.ts';

const closed = { additionalProperties: false };
const EventId = OneOf(EVENT_IDS, { errorCode: 'unknown_event' });

export const Webhook = Type.Object({
  object: Type.Literal('webhook'),
  url: NullableString,
  enabled: Type.Boolean(),
  events: Type.Array(OneOf(EVENT_IDS)),
  secret_set: Type.Boolean(),
  secret: Type.Optional(Type.String({ description: 'Only in the answer to the change that made it.' })),
});
export type Webhook = Static<typeof Webhook>;

export const UpdateWebhook = Type.Object({
  url: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 2048 }))),
  enabled: Type.Optional(Type.Boolean()),
  events: Type.Optional(Type.Array(EventId, { maxItems: EVENT_IDS.length, uniqueItems: true, description: 'Replaces the whole list.' })),
}, closed);
export type UpdateWebhook = Static<typeof UpdateWebhook>;

export const WebhookSecret = Type.Object({ object: Type.Literal('webhook_secret'), secret: Nullable(Type.String()), secret_already_shown: Type.Optional(Type.Boolean()) });

export const TestWebhook = Type.Object({ event: EventId }, closed);

export const WebhookDelivery = Type.Object({
  id: Type.String(),
  object: Type.Literal('webhook_delivery'),
  event: Type.String(),
  url: Type.String(),
  attempt: Type.Integer(),
  status: OneOf(['succeeded', 'failed']),
  response_status: NullableInteger,
  error: Type.String({ description: 'Status line or transport error, never the receiver\'s words; empty when it succeeded.' }),
  duration_ms: Type.Integer(),
  will_retry: Type.Boolean(),
  livemode: Type.Boolean(),
  occurred_at: Timestamp,
});
export type WebhookDelivery = Static<typeof WebhookDelivery>;
export const WebhookDeliveryList = listOf(WebhookDelivery);

export const ListDeliveries = Type.Object({ ...PAGE_PARAMETERS, status: Type.Optional(OneOf(['succeeded', 'failed'])) }, closed);
