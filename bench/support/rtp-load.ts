import { BenchChild } from './child.ts';
import { realtimePrefix } from './cpu.ts';
import type { Arrivals, Conversing, FromLoad, Timing, ToLoad } from './rtp-load-protocol.ts';
import type { Exchange } from './rtp-exchange.ts';

const PRIORITY = 60;

/** Callers' RTP from a process of its own, at real-time priority where granted: the instrument of every call benchmark. */
export class RtpLoad {
  readonly #child: BenchChild<ToLoad, FromLoad>;
  readonly precise: boolean;
  #callers = 0;

  private constructor(child: BenchChild<ToLoad, FromLoad>, precise: boolean) {
    this.#child = child;
    this.precise = precise;
  }

  static async start(): Promise<RtpLoad> {
    const prefix = realtimePrefix(PRIORITY);
    const child = await BenchChild.start<ToLoad, FromLoad>(new URL('./rtp-load-process.ts', import.meta.url), { prefix });
    return new RtpLoad(child, prefix.length > 0);
  }

  /** Opens further callers; their numbers and loopback ports. */
  async open(callers: number): Promise<{ caller: number; port: number }[]> {
    const { ports } = await this.#child.ask({ type: 'open', callers }, 'ports');
    const first = this.#callers;
    this.#callers += callers;
    return ports.map((port, i) => ({ caller: first + i, port }));
  }

  async send(to: { caller: number; port: number }[]): Promise<void> {
    await this.#child.ask({ type: 'send', to }, 'sending');
  }

  /** What all callers receive in so many seconds. */
  async measure(seconds: number, timing: Timing): Promise<Arrivals> {
    return this.#child.ask({ type: 'measure', seconds, timing }, 'arrivals');
  }

  /** Resolves once every caller has had its turns, or the time is up. */
  async converse(callers: number[], conversing: Conversing): Promise<{ caller: number; exchange: Exchange }[]> {
    return (await this.#child.ask({ type: 'converse', callers, ...conversing }, 'exchanges')).exchanges;
  }

  async close(): Promise<void> {
    await this.#child.close();
  }
}
