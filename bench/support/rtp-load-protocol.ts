import type { Exchange, Manner } from './rtp-exchange.ts';

/** What a benchmark says to its RTP generator, and back. Each request is answered by the reply named beside it. */
export type ToLoad =
  /** Bind this many further callers. -> `ports` */
  | { type: 'open'; callers: number }
  /** From the next 20 ms on, these callers send to these loopback ports. -> `sending` */
  | { type: 'send'; to: { caller: number; port: number }[] }
  /** Log what all callers receive for so long. -> `arrivals` */
  | { type: 'measure'; seconds: number; timing: Timing }
  /** These callers hold a conversation. -> `exchanges` */
  | ({ type: 'converse'; callers: number[] } & Conversing);

/** `exact` times arrivals, at the sender's cost; `cheap` costs the sender what a network card would, to about a millisecond. */
export type Timing = 'exact' | 'cheap';

/** How callers converse: so many turns each, ended after `withinSeconds` whatever happens. */
export interface Conversing {
  turns: number;
  manner: Manner;
  withinSeconds: number;
  /** Recordings (mono WAV) spoken in turn; without them, speech-like sound. */
  clips?: string[];
}

export interface Arrivals {
  type: 'arrivals';
  /** Callers that received anything. */
  callers: number;
  received: number;
  sent: number;
  lost: number;
  late: number;
  duplicated: number;
  /** Every packet's arrival against its caller's own 20 ms grid, ms. */
  deviationsMs: Float64Array;
  /** How late the generator itself sent, ms. */
  sendLatenessMs: Float64Array;
}

export type FromLoad =
  | { type: 'ports'; ports: number[] }
  | { type: 'sending' }
  | Arrivals
  | { type: 'exchanges'; exchanges: { caller: number; exchange: Exchange }[] };
