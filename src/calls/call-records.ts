import type { EndReason } from '../end-reason.ts';
import type { CallLogEntry, CallSummary, TranscriptItem } from './worker-protocol.ts';

/** What live calls write down. Implemented over the calls resource; every method may be called again with the same values. */
export interface CallRecords {
  answered(callId: string, at: Date): Promise<void>;
  transcript(callId: string, item: TranscriptItem): Promise<void>;
  log(callId: string, entry: CallLogEntry): Promise<void>;
  /** Exactly once effective: fires `callCompleted`. */
  end(callId: string, end: CallEnd): Promise<void>;
}

export interface CallEnd {
  status: 'completed' | 'failed' | 'canceled';
  endReason: EndReason;
  endDetail?: string;
  outcome: 'conversation' | 'no_conversation' | 'not_connected';
  endedAt: Date;
  summary: CallSummary;
}
