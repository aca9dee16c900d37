import type { EndReason } from '../end-reason.ts';
import type { CallLogEntry, CallSummary, TranscriptItem } from './worker-protocol.ts';

/** What live calls write down. Implemented over the calls resource; every method may be called again with the same values. */
/** How far an outbound call has come, and what its trunk said. */
export interface CallProgress {
  status?: 'dialing' | 'ringing';
  at: Date;
  sip: { callId: string; responseCode?: number; reason?: string };
}

export interface CallRecords {
  progress(callId: string, progress: CallProgress): Promise<void>;
  answered(callId: string, at: Date): Promise<void>;
  transcript(callId: string, item: TranscriptItem): Promise<void>;
  log(callId: string, entry: CallLogEntry): Promise<void>;
  /** Exactly once effective: fires `callCompleted`. */
  end(callId: string, end: CallEnd): Promise<void>;
}

export interface CallEnd {
  status: 'completed' | 'busy' | 'no_answer' | 'failed' | 'canceled';
  endReason: EndReason;
  endDetail?: string;
  outcome: 'conversation' | 'no_conversation' | 'not_connected';
  endedAt: Date;
  summary: CallSummary;
}
