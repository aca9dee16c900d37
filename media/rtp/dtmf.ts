/** DTMF received as telephone-event (RFC 4733): each key press is reported once, when it ends. */
import { timestampDistance } from './packet.ts';

const DIGITS = '0123456789*#ABCD';
const END_BIT = 0x80;
/** An event's packets come every 20 to 50 ms; silence this long means that all three ends were lost. */
const LOST_END_MS = 150;
/** A segment this long goes on under a new timestamp (RFC 4733 2.5.1.3). */
const SEGMENT_UNITS = 0xffff;

export class DtmfReceiver {
  readonly #unitsPerMs: number;
  readonly #onDigit: (digit: string, durationMs: number) => void;
  /** Event code sounding now; -1 when none. */
  #event = -1;
  #timestamp = 0;
  #duration = 0;
  #earlierSegments = 0;
  #lastAt = 0;
  /** Timestamp of the last event reported, so that its retransmitted ends are not new events. */
  #reported: number | undefined;

  constructor(onDigit: (digit: string, durationMs: number) => void, clockRate = 8000) {
    this.#onDigit = onDigit;
    this.#unitsPerMs = clockRate / 1000;
  }

  /** One telephone-event payload, bytes [from, to). Malformed ones and events other than keys (0–15) are ignored. */
  packet(timestamp: number, bytes: Uint8Array, from: number, to: number, nowMs: number): void {
    if (to - from < 4) return;
    const event = bytes[from]!;
    if (event >= DIGITS.length) return;
    const duration = (bytes[from + 2]! << 8) | bytes[from + 3]!;
    const ended = (bytes[from + 1]! & END_BIT) !== 0;
    if (this.#isOld(timestamp)) return;
    if (this.#event !== -1 && timestamp !== this.#timestamp) {
      if (this.#continues(event, timestamp)) this.#earlierSegments += SEGMENT_UNITS;
      else this.#finish();
    }
    if (this.#event === -1) this.#earlierSegments = 0;
    // A start overtaken by its own update must not shorten the key.
    this.#duration = this.#event !== -1 && timestamp === this.#timestamp ? Math.max(this.#duration, duration) : duration;
    this.#event = event;
    this.#timestamp = timestamp;
    this.#lastAt = nowMs;
    if (ended) this.#finish();
  }

  /** Ends a key whose end was lost; call it every frame or so. */
  tick(nowMs: number): void {
    if (this.#event !== -1 && nowMs - this.#lastAt > LOST_END_MS) this.#finish();
  }

  /** A new stream: timestamps start afresh. */
  reset(): void {
    if (this.#event !== -1) this.#finish();
    this.#reported = undefined;
  }

  /** Whether a packet belongs to a key reported already or to one before the key sounding now. */
  #isOld(timestamp: number): boolean {
    if (this.#reported !== undefined && timestampDistance(timestamp, this.#reported) <= 0) return true;
    return this.#event !== -1 && timestampDistance(timestamp, this.#timestamp) < 0;
  }

  #continues(event: number, timestamp: number): boolean {
    return event === this.#event && this.#duration === SEGMENT_UNITS && timestamp === (this.#timestamp + SEGMENT_UNITS) >>> 0;
  }

  #finish(): void {
    const digit = DIGITS[this.#event]!;
    const durationMs = (this.#earlierSegments + this.#duration) / this.#unitsPerMs;
    this.#event = -1;
    this.#reported = this.#timestamp;
    this.#onDigit(digit, durationMs);
  }
}
