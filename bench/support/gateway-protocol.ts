import type { CallSummary } from '../../src/calls/worker-protocol.ts';
import type { FurnishedApi } from './api-side.ts';

/** How a measured gateway's calls behave. */
export type Script =
  /** Answers each turn with a reply longer than anybody listens to, after fixed delays; everything is logged. */
  | { kind: 'exchange'; delays: EngineDelays }
  /** After the caller's first words the agent speaks for ever; nothing is logged. */
  | { kind: 'monologue' };

/** Delays of the scripted engines, ms; each turn adds up to `spreadMs`, so that no phase of any clock is favoured. */
export interface EngineDelays { sttMs: number; llmMs: number; ttsMs: number; spreadMs: number }

/** What a scripted engine or detector did. */
export type EngineFact =
  /** The call's voice detector decided that speech began. */
  | { kind: 'voice_started' }
  /** The turn controller closed the utterance; `silentMs` of silence had been heard by then. */
  | { kind: 'speech_ended'; silentMs: number }
  /** An engine was given work; it answers after `delayMs`. */
  | { kind: 'work'; engine: 'stt' | 'llm' | 'tts'; delayMs: number };

/** `at`: on the machine's monotonic clock, ms. */
export type EngineEvent = { callId: string; at: number } & EngineFact;

export interface GatewayOptions { script: Script; realtimePriority: boolean; rtpPorts: { from: number; to: number } }

export interface OpenedCall { callId: string; rtpPort: number; answeredAt: number }

export type ToGateway =
  /** -> `opened`: each call is answered as soon as it is open, `everyMs` apart. */
  | { type: 'open'; calls: { callId: string; peerPort: number }[]; everyMs: number }
  /** -> `ended` */
  | { type: 'hangUp'; callIds: string[] }
  /** Busy JavaScript on the main thread, per cent of its time. -> `loaded` */
  | { type: 'load'; mainPct: number }
  /** An embedded PostgreSQL under so many single-row transactions a second; 0 stops it. -> `loaded` */
  | { type: 'writes'; perSecond: number }
  /** The API on the main thread, with so many agents and leads. -> `furnished` */
  | { type: 'furnish'; agents: number; leads: number }
  /** -> `state` */
  | { type: 'state' }
  /** Counts what the media thread allocates for so long. -> `allocated` */
  | { type: 'allocation'; seconds: number }
  /** -> `events` */
  | { type: 'events' };

export type FromGateway =
  | { type: 'opened'; calls: OpenedCall[] }
  | { type: 'ended'; summaries: CallSummary[] }
  | { type: 'loaded' }
  | { type: 'furnished'; api: FurnishedApi }
  /** `written`: transactions acknowledged by the embedded database so far. */
  | { type: 'state'; mediaTid: number; priority: string; calls: number; written: number }
  | { type: 'allocated'; heapBytes: number; bufferBytes: number; largestCollectionMs: number }
  | { type: 'events'; events: EngineEvent[] };
