import type { EndReason } from '../../end-reason.ts';

/** What the calls resource needs of live calls; `src/calls` implements it. Owned by its consumer. */
export interface LiveCalls {
  /** Ends a live call; false when this node does not have it. Resolves once the call has ended and its row says so. */
  hangUp(callId: string, reason: EndReason): Promise<boolean>;
  /** Opens a realtime call that waits for its browser. Throws ApiError `concurrency_limit` or `service_unavailable`. */
  openRealtime(request: RealtimeRequest): Promise<{ url: string }>;
}

export interface RealtimeRequest {
  accountId: string;
  livemode: boolean;
  callId: string;
  sessionId: string;
  agentId: string;
  variables: Record<string, string>;
  overrides: { opening_message?: string; system_prompt?: string; language?: string };
  /** The single-use secret; only its hash crosses to the worker. */
  clientSecret: string;
  joinBefore: Date;
  allowedOrigins: string[];
  audio: { input: AudioFormat; output: AudioFormat };
  maxDurationSeconds?: number;
}

export interface AudioFormat { encoding: 'pcm16' | 'pcmu' | 'pcma'; sampleRate: 8000 | 16_000 | 24_000 | 48_000 }
