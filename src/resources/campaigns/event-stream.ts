import { Readable } from 'node:stream';
import type { Clock } from '../../clock.ts';

const KEEP_ALIVE_MS = 15_000;
/** A client that reads nothing is let go once this much waits for it, bytes. */
const MAX_WAITING = 64 * 1024;

/** The body of a reply of server-sent events, with a comment now and then so that nobody on the way thinks it dead. */
export class EventStream extends Readable {
  readonly #clock: Clock;
  #cancelKeepAlive: () => void = () => undefined;

  constructor(clock: Clock) {
    super();
    this.#clock = clock;
    this.#keepAlive();
  }

  override _read(): void {
    // What is told is pushed as it comes.
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#cancelKeepAlive();
    done(error);
  }

  get ended(): boolean {
    return this.destroyed || this.readableEnded;
  }

  tell(event: string, data: object): void {
    this.#write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  /** After everything told has been read. */
  end(): void {
    this.#cancelKeepAlive();
    if (!this.ended) this.push(null);
  }

  #keepAlive(): void {
    this.#cancelKeepAlive = this.#clock.after(KEEP_ALIVE_MS, () => {
      this.#write(': still here\n\n');
      if (!this.ended) this.#keepAlive();
    });
  }

  #write(text: string): void {
    if (this.ended) return;
    if (this.readableLength > MAX_WAITING) this.destroy();
    else this.push(text);
  }
}
