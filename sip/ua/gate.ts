/** What every packet passes first: is its sender known, is it too much, is it SIP at all. */
import type { SipClock } from '../clock.ts';
import type { DialogTable } from '../dialog/dialog-table.ts';
import { reasonPhrase } from '../message/build.ts';
import type { ReplyTo, SipMessage } from '../message/message.ts';
import { parseMessage, type ParseLimits } from '../message/parse.ts';
import { redactedText } from '../message/redact.ts';
import type { Welcome } from '../transport/tcp.ts';
import { TokenBuckets } from '../transport/token-bucket.ts';
import type { SipSource } from '../transport/source.ts';

/** One message as a person reads it. */
export interface TraceEntry {
  readonly callId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly direction: 'in' | 'out';
  /** `INVITE sip:…`, `200 OK (INVITE)` */
  readonly summary: string;
  /** The other side. */
  readonly source: SipSource;
  /** The message without credentials and media keys. */
  readonly text: string;
}

export interface Refusal {
  readonly source: SipSource;
  readonly reason: string;
}

export interface GateOptions {
  readonly clock: SipClock;
  readonly dialogs: DialogTable;
  readonly limits: ParseLimits & { readonly perSourcePerSecond: number; readonly perSourceBurst: number; readonly sources: number };
  readonly admits: (source: SipSource) => boolean;
  readonly onMessage: (message: SipMessage, source: SipSource) => void;
  readonly onMalformed: (reply: { status: number; to: ReplyTo }, source: SipSource) => void;
  readonly onTrace: ((entry: TraceEntry) => void) | undefined;
  readonly onRefused: ((refusal: Refusal) => void) | undefined;
  readonly onFault: (error: unknown) => void;
}

/** A flood must not become a flood of reports. */
const REPORTS_PER_SECOND = 10;
const REPORT_BURST = 50;
const PEEK_BYTES = 4096;

export class Gate {
  readonly #options: GateOptions;
  readonly #buckets: TokenBuckets;
  readonly #reports: TokenBuckets;

  constructor(options: GateOptions) {
    const { clock, limits } = options;
    this.#options = options;
    this.#buckets = new TokenBuckets({ perSecond: limits.perSourcePerSecond, burst: limits.perSourceBurst, maxSources: limits.sources, clock });
    this.#reports = new TokenBuckets({ perSecond: REPORTS_PER_SECOND, burst: REPORT_BURST, maxSources: 1, clock });
  }

  /** Whether a TCP peer may stay. */
  welcome(source: SipSource): Welcome {
    if (this.#admits(source)) return 'yes';
    if (!this.#options.dialogs.empty) return 'guest';
    this.refused(source, 'unknown source');
    return 'no';
  }

  /** Takes a packet in; false when it came from a source that has no business here. */
  receive(bytes: Buffer, source: SipSource): boolean {
    // Keepalives of NATed clients: nothing to parse, nothing to answer.
    if (bytes.length <= 4 && bytes.every((octet) => octet === 0 || octet === 0x0d || octet === 0x0a)) return true;
    const admitted = this.#admits(source);
    if (!admitted && !this.#options.dialogs.knowsCallId(peekCallId(bytes))) {
      this.refused(source, 'unknown source');
      return false;
    }
    if (!this.#buckets.take(source.address)) {
      this.refused(source, 'rate limited');
      return true;
    }
    const parsed = parseMessage(bytes, this.#options.limits);
    if (parsed.kind === 'malformed') {
      this.refused(source, `malformed: ${parsed.reason}`);
      if (admitted && parsed.reply !== undefined) this.#options.onMalformed(parsed.reply, source);
      return admitted;
    }
    const { message } = parsed;
    // In-dialog requests may come from anywhere (a proxy that steps out of the way, a moved phone): the
    // dialog's Call-ID and tags are their proof. Responses must meet a transaction of ours anyway.
    if (!admitted && message.kind === 'request' && this.#options.dialogs.find(message).kind === 'unknown') {
      this.refused(source, 'unknown source');
      return false;
    }
    this.trace('in', { bytes, callId: message.callId, summary: summary(message) }, source);
    this.#options.onMessage(message, source);
    return true;
  }

  trace(direction: 'in' | 'out', message: { bytes: Buffer; callId: string; summary: string }, source: SipSource): void {
    const { onTrace, clock } = this.#options;
    if (onTrace === undefined) return;
    const { bytes, callId, summary } = message;
    this.#guarded(() => onTrace({ callId, at: clock.now(), direction, summary, source, text: redactedText(bytes) }));
  }

  refused(source: SipSource, reason: string): void {
    const { onRefused } = this.#options;
    if (onRefused === undefined || !this.#reports.take('reports')) return;
    this.#guarded(() => onRefused({ source, reason }));
  }

  #admits(source: SipSource): boolean {
    return this.#guarded(() => this.#options.admits(source)) ?? false;
  }

  #guarded<T>(run: () => T): T | undefined {
    try {
      return run();
    } catch (error) {
      this.#options.onFault(error);
      return undefined;
    }
  }
}

function summary(message: SipMessage): string {
  if (message.kind === 'request') return `${message.method} ${message.uri.text}`;
  return `${message.status} ${message.reason === '' ? reasonPhrase(message.status) : message.reason} (${message.cseq.method})`;
}

/** A packet's Call-ID without parsing it. */
function peekCallId(bytes: Buffer): string {
  const head = bytes.toString('latin1', 0, PEEK_BYTES);
  return /\r\n(?:call-id|i)[ \t]*:[ \t]*([^\s]+)/i.exec(head)?.[1] ?? '';
}
