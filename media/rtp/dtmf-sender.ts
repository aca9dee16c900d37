/** DTMF to send as telephone-event (RFC 4733): key after key, each in place of the 20 ms frames of sound that it lasts. */

const DIGITS = '0123456789*#ABCD';
const FRAME_UNITS = 160;
/** 100 ms sounding; its end is said three times, so that two may be lost. */
const KEY_FRAMES = 5;
const END_FRAMES = 3;
/** Of sound, between two keys. */
const GAP_FRAMES = 3;
/** `w`. */
const WAIT_FRAMES = 25;
const END_BIT = 0x80;
/** -10 dBm0. */
const VOLUME = 10;
const MAX_WAITING = 64;

/** What to send in place of the next 20 ms. */
export interface KeyFrame {
  /** The key's first: its timestamp stays for all of them. */
  first: boolean;
  payload: Uint8Array;
}

export class DtmfSender {
  #waiting = '';
  /** Frames of the key sounding now that were sent; undefined: none sounds. */
  #sent: number | undefined;
  #gap = 0;

  /** Takes `0-9*#A-D` and `w` (half a second of sound), after those that wait; false: too many would wait. */
  press(digits: string): boolean {
    if (this.#waiting.length + digits.length > MAX_WAITING) return false;
    this.#waiting += digits;
    return true;
  }

  /** Called once per 20 ms; undefined: send sound. */
  next(): KeyFrame | undefined {
    if (this.#sent === undefined && !this.#begin()) return undefined;
    const at = this.#sent ?? 0;
    const event = DIGITS.indexOf(this.#waiting[0] ?? '');
    const duration = Math.min(at + 1, KEY_FRAMES) * FRAME_UNITS;
    const ended = at + 1 >= KEY_FRAMES;
    const payload = Uint8Array.of(event, (ended ? END_BIT : 0) | VOLUME, duration >> 8, duration & 0xff);
    this.#sent = at + 1;
    if (this.#sent === KEY_FRAMES + END_FRAMES - 1) this.#finish();
    return { first: at === 0, payload };
  }

  #begin(): boolean {
    if (this.#gap > 0) {
      this.#gap--;
      return false;
    }
    const key = this.#waiting[0];
    if (key === undefined) return false;
    if (DIGITS.includes(key)) return true;
    this.#waiting = this.#waiting.slice(1);
    this.#gap = WAIT_FRAMES - 1;
    return false;
  }

  #finish(): void {
    this.#sent = undefined;
    this.#waiting = this.#waiting.slice(1);
    this.#gap = GAP_FRAMES;
  }
}
