import type { EndReason } from '../end-reason.ts';
import type { CallEnd, CallProgress, CallRecords } from './call-records.ts';
import type { WorkerPool } from './worker-pool.ts';
import type { CallCommand, CallLogEntry, CallSummary, CommandOutcome, FromWorker, OpenCall } from './worker-protocol.ts';

export interface LiveCallOptions {
  callId: string;
  records: CallRecords;
  pool: WorkerPool;
  log: { warn(detail: object, message: string): void };
  /** Once: the media side is gone; end the signalling (BYE, refusal). */
  onEnded: (reason: EndReason, detail: string | undefined) => void;
}

const RETRY_FIRST_MS = 100;
const RETRY_MAX_MS = 5000;
/** Writes that wait for the database; past this a call's log lines are dropped, its transcript and end never. */
const MAX_PENDING_WRITES = 5000;

/** The control side of one live call: what its worker reports is written down in order, and its end is written once. */
export class LiveCall {
  readonly callId: string;
  readonly #options: LiveCallOptions;
  readonly #opened = Promise.withResolvers<{ rtpPort?: number } | undefined>();
  readonly #done = Promise.withResolvers<void>();
  #writes: Promise<void> = Promise.resolve();
  #pending = 0;
  #answeredAt: Date | undefined;
  #detail: { reason: EndReason; text: string } | undefined;
  #callerSpoke = false;
  #ended = false;
  /** Commands that the worker has not answered. */
  readonly #commands = new Map<number, (outcome: CommandOutcome) => void>();
  #commandNumber = 0;

  constructor(options: LiveCallOptions) {
    this.#options = options;
    this.callId = options.callId;
  }

  /** Hands the call to a worker. Resolves once its leg is open and its opening rendered; undefined: it ended instead. */
  open(call: OpenCall): Promise<{ rtpPort?: number } | undefined> {
    const placed = this.#options.pool.open(call, (message) => this.#hear(message));
    if (!placed) this.#end('internal_error', 'no media worker is running', { turns: [], interruptions: { byCaller: 0, falseAlarms: 0 } });
    return this.#opened.promise;
  }

  /** The far end is connected. `tellWorker`: false where the worker already knows (a browser joined there). */
  answered(tellWorker: boolean): void {
    if (this.#answeredAt || this.#ended) return;
    const at = new Date();
    this.#answeredAt = at;
    if (tellWorker) this.#options.pool.tell({ type: 'answered', callId: this.callId });
    this.#write('answered', () => this.#options.records.answered(this.callId, at));
  }

  /** An outbound call went a step further. */
  progress(progress: Omit<CallProgress, 'at'>): void {
    const at = new Date();
    if (!this.#ended) this.#write('progress', () => this.#options.records.progress(this.callId, { ...progress, at }));
  }

  /** `detail`: the reason in words, for the record. */
  hangUp(reason: EndReason, detail?: string): void {
    if (detail !== undefined) this.#detail ??= { reason, text: detail };
    this.#options.pool.tell({ type: 'hangUp', callId: this.callId, reason });
  }

  /** Has the worker do something; a call that ends first answers `not_in_progress`. */
  command(command: CallCommand): Promise<CommandOutcome> {
    if (this.#ended) return Promise.resolve('not_in_progress');
    const number = this.#commandNumber++;
    const { promise, resolve } = Promise.withResolvers<CommandOutcome>();
    this.#commands.set(number, resolve);
    this.#options.pool.tell({ type: 'command', callId: this.callId, number, command });
    return promise;
  }

  /** `at` is now where the entry does not say. */
  log(entry: Omit<CallLogEntry, 'at'> & { at?: number }): void {
    const stamped = { at: Date.now(), ...entry };
    if (this.#pending < MAX_PENDING_WRITES) this.#write('log', () => this.#options.records.log(this.callId, stamped));
  }

  /** Resolves once the call has ended and its record says so. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  #hear(message: Exclude<FromWorker, { type: 'ready' | 'pong' }>): void {
    const { records } = this.#options;
    switch (message.type) {
      case 'opened':
        this.#opened.resolve(message.rtpPort === undefined ? {} : { rtpPort: message.rtpPort });
        break;
      case 'joined': this.answered(false); break;
      case 'transcript':
        if (message.item.role === 'caller') this.#callerSpoke = true;
        this.#write('transcript', () => records.transcript(this.callId, message.item));
        break;
      case 'log': {
        const { at, ...entry } = message.entry;
        if (this.#pending < MAX_PENDING_WRITES) this.#write('log', () => records.log(this.callId, { at, ...entry }));
        break;
      }
      case 'commandDone':
        this.#commands.get(message.number)?.(message.outcome);
        this.#commands.delete(message.number);
        break;
      case 'ended': this.#end(message.reason, message.detail, message.summary); break;
    }
  }

  #end(reason: EndReason, detail: string | undefined, summary: CallSummary): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#opened.resolve(undefined);
    for (const answer of this.#commands.values()) answer('not_in_progress');
    this.#options.onEnded(reason, detail);
    const end: CallEnd = {
      status: this.#status(reason),
      endReason: reason,
      ...this.#endDetail(reason, detail),
      outcome: this.#outcome(),
      endedAt: new Date(),
      summary,
    };
    this.#write('end', () => this.#options.records.end(this.callId, end));
    void this.#writes.then(() => this.#done.resolve());
  }

  #status(reason: EndReason): CallEnd['status'] {
    if (this.#answeredAt) return 'completed';
    if (reason === 'busy' || reason === 'no_answer') return reason;
    return reason === 'caller_hangup' || reason === 'session_not_joined' || reason === 'api_hangup' ? 'canceled' : 'failed';
  }

  /** What the worker says comes before what was said with the hang-up; that counts only if the call ended for its reason. */
  #endDetail(reason: EndReason, detail: string | undefined): { endDetail?: string } {
    const text = detail ?? (this.#detail?.reason === reason ? this.#detail.text : undefined);
    return text === undefined ? {} : { endDetail: text };
  }

  #outcome(): CallEnd['outcome'] {
    if (!this.#answeredAt) return 'not_connected';
    return this.#callerSpoke ? 'conversation' : 'no_conversation';
  }

  /** Appends a write; the ones before it finish first. A database that is away is waited for: nothing reported is lost. */
  #write(what: string, write: () => Promise<void>): void {
    this.#pending++;
    this.#writes = this.#writes.then(() => this.#untilWritten(what, write)).finally(() => this.#pending--);
  }

  async #untilWritten(what: string, write: () => Promise<void>): Promise<void> {
    for (let delayMs = RETRY_FIRST_MS; ; delayMs = Math.min(delayMs * 2, RETRY_MAX_MS)) {
      try {
        await write();
        return;
      } catch (error) {
        this.#options.log.warn({ callId: this.callId, what, error: String(error) }, 'writing a call down failed; trying again');
        if (isPermanent(error)) return;
        await new Promise((resolve) => setTimeout(resolve, delayMs));
      }
    }
  }
}

/** PostgreSQL's classes 22 (data) and 23 (integrity): the same write would fail for ever. */
function isPermanent(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' && /^2[23]/.test(code);
}
