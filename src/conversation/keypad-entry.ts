/** Longest entry, keys. */
const MAX_KEYS = 32;
/** An entry is over after this long without a key. */
const KEY_WAIT_MS = 2000;

/** Gathers keys into one entry: ended by #, by a pause, or by its length. */
export class KeypadEntry {
  #keys = '';
  #lastKeyMs = 0;

  /** Takes a key (0-9, A-D, * or #; others are ignored) pressed when `heardMs` had been heard. */
  press(key: string, heardMs: number): void {
    if (!/^[0-9A-D*#]$/.test(key) || this.#keys.length >= MAX_KEYS) return;
    this.#keys += key;
    this.#lastKeyMs = heardMs;
  }

  /** The whole entry, once. */
  take(heardMs: number): string | undefined {
    const ended = this.#keys.endsWith('#') || this.#keys.length >= MAX_KEYS || heardMs - this.#lastKeyMs >= KEY_WAIT_MS;
    if (!this.#keys || !ended) return undefined;
    const keys = this.#keys;
    this.#keys = '';
    return keys;
  }
}
