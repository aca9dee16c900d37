import type { EndReason } from '../../end-reason.ts';
import type { ResolvedAgent } from '../agents/spec.ts';

/** What resources need of live calls; `src/calls` implements it. Owned by its consumer. */
export interface LiveCalls {
  /** Ends a live call; false when this node does not have it. Resolves once the call has ended and its row says so. */
  hangUp(callId: string, reason: EndReason): Promise<boolean>;
  /** Opens a realtime call, whose row exists, and waits for its browser. Throws ApiError `concurrency_limit` or `service_unavailable`; the call has then ended. */
  openRealtime(request: RealtimeRequest): Promise<{ url: string }>;
  /** Asked before a call is written down. Throws ApiError `dialling_unavailable`, `concurrency_limit` or `service_unavailable`; nothing has happened then. */
  mayPlace(call: { livemode: boolean }): void;
  /** Dials a call whose row says `queued`, and resolves once it is in hand; what becomes of it is written to its row. */
  place(request: PlaceRequest): Promise<void>;
  /** Has a live call do something. */
  command(callId: string, command: CallCommand): Promise<CommandOutcome>;
  /** Asked before a transfer is written down. Throws ApiError `transfer_unavailable`; nothing has happened then. */
  mayTransfer(): void;
  /** Hands a call, whose row says `transferring`, to somebody else; what becomes of it is written to its row. */
  transfer(callId: string, request: TransferRequest): Promise<void>;
}

export type CallCommand =
  /** The agent speaks it as soon as neither side does. */
  | { kind: 'say'; text: string }
  /** The model knows it from its next reply on. */
  | { kind: 'context'; text: string }
  /** Keys for the far end; `w` waits half a second. */
  | { kind: 'dtmf'; digits: string };

/** `not_possible`: this call's far end cannot take it. `too_many`: as many as may wait do already. */
export type CommandOutcome = 'done' | 'not_in_progress' | 'not_possible' | 'too_many';

export interface PlaceRequest {
  callId: string;
  /** False: a call in test mode never leaves this machine. */
  livemode: boolean;
  agent: ResolvedAgent;
  /** E.164. */
  to: string;
  /** Null in test mode only, as is the trunk. */
  from: string | null;
  sipTrunkId: string | null;
  trunk: DialTrunk | null;
  ringTimeoutMs: number;
  maxCostMicros: number | undefined;
  /** Where to record; absent: recording is off. */
  recordingPath?: string;
}

/** A trunk as far as a call through it needs it. Holds a password: never logged, never kept. */
export interface DialTrunk {
  host: string;
  port: number | null;
  transport: 'udp' | 'tcp';
  /** Host, host:port or a sip: URI. */
  outboundProxy: string | null;
  username: string | null;
  password: string | null;
  realm: string | null;
  fromDomain: string | null;
  callerIdMode: 'from' | 'pai' | 'rpid';
  numberFormat: 'e164' | 'national' | 'strip_plus';
  headers: Record<string, string>;
  /** Never empty. */
  codecs: ('PCMU' | 'PCMA')[];
}

export interface TransferRequest { to: string; mode: 'cold' | 'warm' }

export interface RealtimeRequest {
  callId: string;
  sessionId: string;
  agent: ResolvedAgent;
  /** Where to record; absent: recording is off. */
  recordingPath?: string;
  /** The single-use secret; only its hash crosses to the worker. */
  clientSecret: string;
  joinBefore: Date;
  allowedOrigins: string[];
  audio: { input: AudioFormat; output: AudioFormat };
}

export interface AudioFormat { encoding: 'pcm16' | 'pcmu' | 'pcma'; sampleRate: 8000 | 16_000 | 24_000 | 48_000 }
