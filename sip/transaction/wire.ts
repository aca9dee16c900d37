/** How transactions reach the network. */

/** A message ready to be sent, and what a trace wants to know of it. */
export interface Outgoing {
  readonly bytes: Buffer;
  readonly callId: string;
  /** `200 OK (INVITE)`, `BYE sip:…` */
  readonly summary: string;
}

/** One transaction's way out. */
export interface Wire {
  /** TCP and its like: nothing is retransmitted hop by hop. */
  readonly reliable: boolean;
  send(message: Outgoing): void;
}
