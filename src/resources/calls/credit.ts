import type { Queryable } from '../../db/database.ts';

/**
 * Whether the account can pay for a call that is about to begin; may hold money for it in the same transaction.
 * Throws ApiError `insufficient_credits`.
 */
export type RequireCredit = (transaction: Queryable, call: {
  callId: string;
  accountId: string;
  /** False: test mode, which never costs. */
  livemode: boolean;
  direction: 'inbound' | 'outbound' | 'realtime';
  agentId: string;
  /** What it hears, thinks and speaks with, where that is not its agent's own. */
  models?: Readonly<Partial<Record<'stt' | 'llm' | 'tts' | 'realtime', string>>> | undefined;
  maxCostMicros?: number | undefined;
}) => Promise<void>;

/** What the call cost, micro-USD, charged and its hold released in the transaction that ends it. */
export type SettleCall = (transaction: Queryable, callId: string) => Promise<number>;
