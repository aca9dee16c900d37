import { createHash } from 'node:crypto';
import type { EndReason } from '../end-reason.ts';
import type { CallCommand, CommandOutcome, LiveCalls, PlaceRequest, RealtimeRequest } from '../resources/calls/live-calls.ts';
import type { CallRecords } from './call-records.ts';
import { LiveCall } from './live-call.ts';
import type { WorkerPool } from './worker-pool.ts';
import type { OpenCall } from './worker-protocol.ts';

export interface CallControlOptions {
  pool: WorkerPool;
  records: CallRecords;
  /** Calls at once in this process: what the embedded engines can carry. */
  capacity: number;
  /** `ws://…` address of the socket for this session, given the worker's own port. */
  browserUrl: (sessionId: string, browserPort: number) => string;
  refuse: (code: 'concurrency_limit' | 'service_unavailable' | 'dialling_unavailable' | 'transfer_unavailable', message: string) => Error;
  log: { info(detail: object, message: string): void; warn(detail: object, message: string): void };
}

/** Every live call of this node, by id: admission, opening, hang-up and the wait for the last one. */
export class CallControl implements LiveCalls {
  readonly #options: CallControlOptions;
  readonly #calls = new Map<string, LiveCall>();
  /** Browser port of each realtime session, for relayed upgrades. */
  readonly #sessions = new Map<string, number>();
  /** Places promised to calls that are not open yet. */
  #reserved = 0;
  #draining = false;
  #dialler: { dial(request: PlaceRequest): void } | undefined;

  constructor(options: CallControlOptions) {
    this.#options = options;
  }

  get live(): number {
    return this.#calls.size;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Takes a place for a call, or says why not. Give it back with `release` if no call comes of it. */
  reserve(): 'ok' | 'draining' | 'full' | 'not_ready' {
    const place = this.#place();
    if (place === 'ok') this.#reserved++;
    return place;
  }

  #place(): 'ok' | 'draining' | 'full' | 'not_ready' {
    if (this.#draining) return 'draining';
    if (!this.#options.pool.ready) return 'not_ready';
    return this.#calls.size + this.#reserved >= this.#options.capacity ? 'full' : 'ok';
  }

  release(): void {
    this.#reserved--;
  }

  /** Opens a call in a reserved place; `onEnded` ends its signalling. */
  open(call: OpenCall, onEnded: (reason: EndReason, detail: string | undefined) => void): { call: LiveCall; opened: Promise<{ rtpPort?: number } | undefined> } {
    this.#reserved--;
    const live = new LiveCall({ callId: call.callId, pool: this.#options.pool, records: this.#options.records, log: this.#options.log, onEnded });
    this.#calls.set(call.callId, live);
    void live.done.then(() => this.#calls.delete(call.callId));
    return { call: live, opened: live.open(call) };
  }

  async hangUp(callId: string, reason: EndReason): Promise<boolean> {
    const call = this.#calls.get(callId);
    if (!call) return false;
    call.hangUp(reason);
    await call.done;
    return true;
  }

  /** Who places calls from now on: SIP comes up after everything that calls need. */
  dialWith(dialler: { dial(request: PlaceRequest): void }): void {
    this.#dialler = dialler;
  }

  mayPlace({ livemode }: { livemode: boolean }): void {
    if (!livemode) throw this.#options.refuse('dialling_unavailable', 'Calls in test mode reach simulated callees only, which this version does not have; place the call with a live key.');
    if (this.#dialler === undefined) throw this.#options.refuse('service_unavailable', 'The service is starting and places no calls yet; try again in a moment.');
    const place = this.#place();
    if (place !== 'ok') throw this.#refusal(place);
  }

  async place(request: PlaceRequest): Promise<void> {
    this.mayPlace(request);
    this.#reserved++;
    try {
      this.#dialler?.dial(request);
    } catch (error) {
      this.#reserved--;
      throw error;
    }
  }

  mayTransfer(): void {
    throw this.#options.refuse('transfer_unavailable', 'This version cannot transfer calls.');
  }

  transfer(): Promise<void> {
    return Promise.reject(this.#options.refuse('transfer_unavailable', 'This version cannot transfer calls.'));
  }

  command(callId: string, command: CallCommand): Promise<CommandOutcome> {
    return this.#calls.get(callId)?.command(command) ?? Promise.resolve('not_in_progress');
  }

  async openRealtime(request: RealtimeRequest): Promise<{ url: string }> {
    const place = this.reserve();
    if (place !== 'ok') throw this.#refusal(place);
    const { call, opened } = this.open({
      type: 'open',
      callId: request.callId,
      agent: request.agent,
      leg: {
        kind: 'browser',
        sessionId: request.sessionId,
        clientSecretHash: createHash('sha256').update(request.clientSecret).digest('hex'),
        joinBefore: request.joinBefore.getTime(),
        allowedOrigins: request.allowedOrigins,
        audio: request.audio,
      },
      ...(request.recordingPath === undefined ? {} : { recordingPath: request.recordingPath }),
    }, () => this.#sessions.delete(request.sessionId));
    const browserPort = this.#options.pool.browserPortOf(request.callId);
    if (browserPort !== undefined) this.#sessions.set(request.sessionId, browserPort);
    if (!(await opened) || browserPort === undefined) {
      await call.done;
      throw this.#refusal('not_ready');
    }
    return { url: this.#options.browserUrl(request.sessionId, browserPort) };
  }

  /** Where the socket of this realtime session listens; undefined when it is not of this node. */
  browserPortOf(sessionId: string): number | undefined {
    return this.#sessions.get(sessionId);
  }

  /** Takes no new calls; resolves when the last has ended or the time is over. */
  async drain(withinMs: number): Promise<void> {
    this.#draining = true;
    const all = Promise.all([...this.#calls.values()].map((call) => call.done));
    const over = Promise.withResolvers<void>();
    const timer = setTimeout(over.resolve, withinMs);
    await Promise.race([all, over.promise]);
    clearTimeout(timer);
  }

  /** Ends whatever is live; resolves once every call's record says so. */
  async endAll(reason: EndReason): Promise<void> {
    const calls = [...this.#calls.values()];
    for (const call of calls) call.hangUp(reason);
    await Promise.all(calls.map((call) => call.done));
  }

  #refusal(place: 'draining' | 'full' | 'not_ready'): Error {
    const { refuse, capacity } = this.#options;
    switch (place) {
      case 'full': return refuse('concurrency_limit', `All ${capacity} places for calls on this installation are taken; try again when one has ended.`);
      case 'draining': return refuse('service_unavailable', 'The service is shutting down and takes no new calls.');
      case 'not_ready': return refuse('service_unavailable', 'No media worker is ready to take the call; try again in a moment.');
    }
  }
}
