import { Readable } from 'node:stream';
import type { Clock } from '../clock.ts';

const KEEP_ALIVE_MS = 15_000;
/** A client that does not read is let go once this much waits for it, besides what was there before it came. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

/** The body of an answer of server-sent events, with a comment now and then so that nobody on the way thinks it dead. */
export class EventStream extends Readable {
  readonly #clock: Clock;
  #mayWaitBytes = MAX_WAITING_BYTES;
  #cancelKeepAlive: () => void = () => undefined;

  constructor(clock: Clock) {
    super();
    this.#clock = clock;
    this.#keepAlive();
  }

  /** What is told is pushed as it comes. */
  override _read(): void {}

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#cancelKeepAlive();
    done(error);
  }

  tell(event: string, data: object): void {
    this.#write(eventText(event, data));
  }

  /** What there was before anybody could read: however much it is, it waits for who asked for it. */
  tellOfBefore(event: string, data: object): void {
    const text = eventText(event, data);
    this.#mayWaitBytes += Buffer.byteLength(text);
    this.#write(text);
  }

  /** Ends it after what was told. */
  end(): void {
    this.#cancelKeepAlive();
    if (!this.#over) this.push(null);
  }

  get #over(): boolean {
    return this.destroyed || this.readableEnded;
  }

  #write(text: string): void {
    if (this.#over) return;
    if (this.readableLength > this.#mayWaitBytes) this.destroy();
    else this.push(text);
  }

  #keepAlive(): void {
    this.#cancelKeepAlive = this.#clock.after(KEEP_ALIVE_MS, () => {
      this.#write(': still here\n\n');
      if (!this.#over) this.#keepAlive();
    });
  }
}

function eventText(event: string, data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
