import type { CallSummary } from '../../src/calls/worker-protocol.ts';
import type { FurnishedApi } from './api-side.ts';
import { BenchChild } from './child.ts';
import type { EngineEvent, FromGateway, GatewayOptions, OpenedCall, Script, ToGateway } from './gateway-protocol.ts';

/** Calls a second that are answered while a benchmark sets up. */
const OPEN_EVERY_MS = 10;

/** A gateway's media side in a process of its own: real sessions on one real worker thread, scripted engines. */
export class BenchGateway {
  readonly #child: BenchChild<ToGateway, FromGateway>;
  #calls = 0;

  private constructor(child: BenchChild<ToGateway, FromGateway>) {
    this.#child = child;
  }

  static async start(options: { script: Script; realtimePriority: boolean }): Promise<BenchGateway> {
    const own: GatewayOptions = { ...options, rtpPorts: { from: 20_000, to: 29_999 } };
    const entry = new URL('./gateway-process.ts', import.meta.url);
    return new BenchGateway(await BenchChild.start<ToGateway, FromGateway>(entry, { args: [JSON.stringify(own)] }));
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Opens and answers one call for each peer port. */
  async open(peerPorts: number[]): Promise<OpenedCall[]> {
    const calls = peerPorts.map((peerPort) => ({ callId: `call-${this.#calls++}`, peerPort }));
    return (await this.#child.ask({ type: 'open', calls, everyMs: OPEN_EVERY_MS }, 'opened')).calls;
  }

  async hangUp(callIds: string[]): Promise<CallSummary[]> {
    return (await this.#child.ask({ type: 'hangUp', callIds }, 'ended')).summaries;
  }

  async loadMain(mainPct: number): Promise<void> {
    await this.#child.ask({ type: 'load', mainPct }, 'loaded');
  }

  async writes(perSecond: number): Promise<void> {
    await this.#child.ask({ type: 'writes', perSecond }, 'loaded');
  }

  /** Starts the API on the main thread. */
  async furnish(agents: number, leads: number): Promise<FurnishedApi> {
    return (await this.#child.ask({ type: 'furnish', agents, leads }, 'furnished')).api;
  }

  async state(): Promise<Extract<FromGateway, { type: 'state' }>> {
    return this.#child.ask({ type: 'state' }, 'state');
  }

  async allocation(seconds: number): Promise<Extract<FromGateway, { type: 'allocated' }>> {
    return this.#child.ask({ type: 'allocation', seconds }, 'allocated');
  }

  async events(): Promise<EngineEvent[]> {
    return (await this.#child.ask({ type: 'events' }, 'events')).events;
  }

  async close(): Promise<void> {
    await this.#child.close();
  }
}
