/** What the main thread and a media worker say to each other: types only. Small typed messages, never audio. */
import type { MessagePort } from 'node:worker_threads';
import type { EndReason } from '../end-reason.ts';

/** The agent as a call needs it: resolved, merged and defaulted by the control side. */
export interface AgentSpec {
  id: string;
  version: number;
  systemPrompt: string;
  /** Merge fields already substituted. */
  openingMessage: string;
  language: string;
  stt: { model: string; language: string; endpointingMs: number };
  llm: { model: string; temperature: number; maxTokens: number };
  tts: { model: string; voice: string; speed: number; stability: number; similarityBoost: number };
  turnTaking: { interruptSensitivity: 'off' | 'low' | 'normal' | 'high'; silenceWaitMs: number };
  protectOpening: boolean;
  silence: { reminderAfterMs: number; reminderText: string; maxReminders: number; hangUpAfterMs: number };
  maxDurationMs: number;
}

export interface PhoneLegSpec {
  kind: 'phone';
  codec: 'PCMU' | 'PCMA';
  payloadType: number;
  /** Payload type of telephone-event (RFC 4733); absent: the peer offered none. */
  telephoneEventPayloadType?: number;
  ptimeMs: number;
  /** Where the SDP says the peer listens; symmetric RTP may correct it, once. */
  remote: { address: string; port: number };
  /** False while the peer holds us (`inactive`, `sendonly`). */
  sending: boolean;
}

export interface AudioFormat { encoding: 'pcm16' | 'pcmu' | 'pcma'; sampleRate: 8000 | 16_000 | 24_000 | 48_000 }

export interface BrowserLegSpec {
  kind: 'browser';
  sessionId: string;
  /** SHA-256 of the single-use client secret, hex: the worker never sees the secret before the browser shows it. */
  clientSecretHash: string;
  /** Wall clock in ms: never joined by then, the call ends with `session_not_joined`. */
  joinBefore: number;
  allowedOrigins: string[];
  audio: { input: AudioFormat; output: AudioFormat };
}

export interface OpenCall {
  type: 'open';
  callId: string;
  agent: AgentSpec;
  leg: PhoneLegSpec | BrowserLegSpec;
  /** Absolute path of the stereo WAV to write; absent: recording is off. */
  recordingPath?: string;
}

export type ToWorker =
  | OpenCall
  /** The far end is connected (ACK of the 200): speak the opening. */
  | { type: 'answered'; callId: string }
  /** A re-INVITE changed the peer's media. */
  | { type: 'media'; callId: string; leg: PhoneLegSpec }
  | { type: 'hangUp'; callId: string; reason: EndReason }
  /** Answered with `commandDone` of the same number. */
  | { type: 'command'; callId: string; number: number; command: CallCommand }
  | { type: 'ping'; sequence: number }
  /** End every call with `service_shutdown`, close every socket, exit. */
  | { type: 'close' };

/** What a live call may be told to do. */
export type CallCommand =
  /** The agent speaks it as soon as neither side does. */
  | { kind: 'say'; text: string }
  /** The model knows it from its next reply on. */
  | { kind: 'context'; text: string }
  /** Keys for the far end, `0-9*#A-D`; `w` waits half a second. None: asks whether the far end takes keys. */
  | { kind: 'dtmf'; digits: string };

/** `not_possible`: this call's far end cannot take it. `too_many`: as many as may wait do already. */
export type CommandOutcome = 'done' | 'not_in_progress' | 'not_possible' | 'too_many';

export interface TranscriptItem {
  /** Position in the call, from 0. An item sent again with the same position replaces the one before (an interrupted reply is corrected). */
  position: number;
  role: 'agent' | 'caller' | 'tool';
  text: string;
  /** What the caller heard of an agent's `text`. */
  heardText?: string;
  interrupted?: boolean;
  /** Milliseconds since the call was answered. */
  startedMs: number;
  endedMs: number;
  tool?: { name: string; arguments: Record<string, unknown>; result: string };
}

/** One line of the call's timeline; `detail` holds figures and reasons, never secrets. */
export interface CallLogEntry {
  /** Wall clock, ms. */
  at: number;
  source: 'sip' | 'media' | 'turn' | 'engine' | 'tool' | 'session' | 'error';
  event: string;
  detail?: Record<string, unknown>;
}

/** What a turn cost in time, milliseconds. */
export interface TurnLatency {
  /** Caller's last voiced audio to the agent's first voiced packet. */
  voiceToVoiceMs: number;
  endpointingMs: number;
  sttMs: number;
  llmMs: number;
  ttsMs: number;
}

export interface CallSummary {
  turns: TurnLatency[];
  answerToFirstAudioMs?: number;
  interruptions: { byCaller: number; falseAlarms: number };
  quality?: { codec: string; packetsReceived: number; packetsLostPct: number; jitterMs: number; rttMs?: number; mos: number };
  recordingDurationMs?: number;
}

export type FromWorker =
  /** `realtime`: the media threads hold SCHED_FIFO; `nice`: a better nice value; `normal`: neither was granted. */
  | { type: 'ready'; browserPort: number; priority: 'realtime' | 'nice' | 'normal' }
  /** The leg is open and the opening rendered (or given up on waiting for it): answer now. */
  | { type: 'opened'; callId: string; rtpPort?: number }
  /** A browser joined with the right secret. */
  | { type: 'joined'; callId: string }
  | { type: 'transcript'; callId: string; item: TranscriptItem }
  | { type: 'log'; callId: string; entry: CallLogEntry }
  | { type: 'commandDone'; callId: string; number: number; outcome: CommandOutcome }
  /** Once per opened call, the last message about it. The receiver ends the signalling. */
  | { type: 'ended'; callId: string; reason: EndReason; detail?: string; summary: CallSummary }
  | { type: 'pong'; sequence: number; calls: number };

/** workerData of a media worker. */
export interface WorkerOptions {
  index: number;
  /** Address RTP and browser sockets bind to. */
  host: string;
  rtpPorts: { from: number; to: number };
  browserPort: number;
  /** Ports into the model threads of the embedded engines, one per thread; transferred. */
  modelPorts: { vad: MessagePort; stt: MessagePort[]; tts: MessagePort[] };
  /** OpenAI-compatible endpoint; absent: the offline agent answers. */
  llm?: { baseUrl: string; apiKey: string; model: string };
  /** Milliseconds without RTP after which a phone call ends with `media_timeout`. */
  mediaTimeoutMs: number;
  realtimePriority: boolean;
}
