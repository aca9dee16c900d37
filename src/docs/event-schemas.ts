import { EVENT_IDS, type EventId } from '../events/event.ts';
import { pascal, type Operation, type Schema } from './open-api.ts';

interface EventEntry { fires: string; resource: string; adds?: Record<string, Schema> }

const text = (description: string): Schema => ({ type: 'string', description });
const CALL = { adds: { test: { type: 'boolean', description: 'The call was placed by POST /v1/agents/{id}/test-call.' } }, resource: 'Call' };
const TRANSFER = {
  resource: 'Call',
  adds: { ...CALL.adds, destination: text('Where to.'), mode: { type: 'string', enum: ['cold', 'warm'] }, reason: { anyOf: [{ type: 'string' }, { type: 'null' }], description: 'Why it did not connect.' } },
};

/** What each event tells of. */
export const EVENTS: Readonly<Record<EventId, EventEntry>> = {
  inboundCall: { fires: 'A call arrives on one of the account\'s numbers.', ...CALL },
  outboundCall: { fires: 'A call is placed. Carries the call\'s `metadata`; `test` is true for a test call.', ...CALL },
  callCompleted: { fires: 'A call ends, connected or not, realtime too. Carries its duration, outcome and `metadata`.', ...CALL },
  leadCreated: { fires: 'A lead is created. A bulk import fires none.', resource: 'Lead' },
  leadQualified: { fires: 'A lead is marked qualified, by the API or by an agent in a call.', resource: 'Lead' },
  campaignCompleted: { fires: 'A campaign finishes its list.', resource: 'Campaign' },
  appointmentBooked: { fires: 'An appointment is booked, including by an agent in the middle of a call.', resource: 'Appointment' },
  appointmentCanceled: { fires: 'An appointment is cancelled. Cancelling it again fires nothing.', resource: 'Appointment' },
  callTransferred: { fires: 'A call is handed to a human. SIP calls only.', ...TRANSFER },
  transferFailed: { fires: 'A transfer to a human does not connect.', ...TRANSFER },
};

/** Headers of a delivery, in the order they are told. */
export const DELIVERY_HEADERS: Readonly<Record<string, string>> = {
  'X-Service-Signature': 'Hex HMAC-SHA256 of the raw body, keyed with the signing secret.',
  'X-Service-Event': 'The event id.',
  'X-Service-Delivery-Attempt': 'The attempt, 1 on the first POST.',
  'X-Service-Delivery-Id': 'The id of the delivery record.',
  'X-Service-Timestamp': 'When this attempt was made, ISO 8601 UTC.',
};

/** A payload's schema. `known`: the resources that the document has. */
export function payloadSchema(event: EventId, known: Readonly<Record<string, Schema>>): Schema {
  const { resource, adds = {} } = EVENTS[event];
  const own: Schema = {
    type: 'object',
    required: ['event_key'],
    properties: { event_key: text('The same in every delivery of this happening: drop what you have seen.'), ...adds },
  };
  return {
    type: 'object',
    required: ['event', 'timestamp', 'livemode', 'data'],
    properties: {
      event: { type: 'string', const: event },
      timestamp: text('When it happened, ISO 8601 UTC, with milliseconds.'),
      livemode: { type: 'boolean', description: 'false: it happened in test mode.' },
      test: { type: 'boolean', description: 'Only in samples and test calls, and then true.' },
      data: known[resource] === undefined ? own : { allOf: [{ $ref: `#/components/schemas/${resource}` }, own] },
    },
  };
}

/** The `webhooks` of the document; payload schemas are added to `schemas`. */
export function webhooksOf(schemas: Record<string, Schema>): Record<string, { post: Operation }> {
  return Object.fromEntries(EVENT_IDS.map((event) => {
    const name = `${pascal(event)}Event`;
    schemas[name] = payloadSchema(event, schemas);
    return [event, { post: delivery(event, name) }];
  }));
}

function delivery(event: EventId, schema: string): Operation {
  return {
    operationId: `on${pascal(event)}`,
    summary: event,
    description: `${EVENTS[event].fires}\n\nSent to the account's webhook URL. Verify \`X-Service-Signature\` over the raw body before you parse it; see [events](/docs/events).`,
    tags: ['Webhooks'],
    security: [],
    parameters: Object.entries(DELIVERY_HEADERS).map(([name, description]) => ({ name, in: 'header', description, schema: { type: 'string' } })),
    requestBody: { required: true, content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } } },
    responses: {
      '2XX': { description: 'Received. The body of your answer is not read.' },
      '4XX': { description: 'Refused. Not sent again, but for 408 and 429.' },
    },
  };
}
