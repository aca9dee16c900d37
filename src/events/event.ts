/** Everything an account can be told of; camelCase by the contract. */
export const EVENT_IDS = [
  'inboundCall', 'outboundCall', 'callCompleted', 'leadCreated', 'leadQualified', 'campaignCompleted',
  'appointmentBooked', 'appointmentCanceled', 'callTransferred', 'transferFailed',
] as const;

export type EventId = (typeof EVENT_IDS)[number];

export interface AccountEvent {
  accountId: string;
  livemode: boolean;
  event: EventId;
  /** The resource as its GET shows it. */
  data: Record<string, unknown>;
  /** The same for every event of the same happening, so that a receiver can drop a duplicate. */
  eventKey: string;
  test?: boolean;
}

/** Where events go. Called after the change they tell of is committed; never waits. */
export interface EventSink {
  emit(event: AccountEvent): void;
  /** Drops what is still to be sent about an erased object, named by its id. */
  forget(objectId: string): void;
}

/** The body of a delivery: what is signed and sent, to the byte. */
export function payloadOf(event: AccountEvent, at: Date): string {
  const test = event.test === true ? { test: true } : {};
  return JSON.stringify({
    event: event.event,
    timestamp: at.toISOString(),
    livemode: event.livemode,
    ...test,
    data: { ...event.data, ...test, event_key: event.eventKey },
  });
}
