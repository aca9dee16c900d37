import type { EndReason } from '../../end-reason.ts';
import type { ResolvedAgent } from '../agents/spec.ts';

/** What resources need of live calls; `src/calls` implements it. Owned by its consumer. */
export interface LiveCalls {
  /** Ends a live call; false when this node does not have it. Resolves once the call has ended and its row says so. */
  hangUp(callId: string, reason: EndReason): Promise<boolean>;
  /** Opens a realtime call, whose row exists, and waits for its browser. Throws ApiError `concurrency_limit` or `service_unavailable`; the call has then ended. */
  openRealtime(request: RealtimeRequest): Promise<{ url: string }>;
}

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
