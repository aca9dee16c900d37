import type { AudioFrame } from '../../../media/audio-frame.ts';
import type { BrowserLegSpec } from '../../calls/worker-protocol.ts';
import type { CallLeg } from '../../conversation/call-leg.ts';
import type { EndReason } from '../../end-reason.ts';
import { Admission, type Credential, type Verdict } from './admission.ts';
import { CLOSE, type Connection, type Departure } from './connection.ts';
import { HeardQueue, MAX_QUEUED_MS, type HeardFigures } from './heard-queue.ts';
import { readClientMessage, wireFormat, type ClientMessage, type ServerMessage } from './protocol.ts';
import { SoundDecoder, SoundEncoder } from './sound-format.ts';

/** What a session is told of its browser. Never called from inside `read`, `write` or `sendControl`. */
export interface BrowserLegEvents {
  /** The right secret was shown: the call begins. Once. */
  onJoined(): void;
  /** Sound came: `read()` may have a frame. */
  onFrame(): void;
  /** Everything a client may ask but joining, pings and leaving, which the leg answers itself. */
  onControl(message: ClientMessage): void;
  /** The socket broke and may come back: the leg is `waiting`. */
  onLost?(): void;
  onResumed?(): void;
}

export interface BrowserLegLimits {
  /** A broken socket may come back for so long. */
  resumeWithinMs: number;
}

export const BROWSER_LEG_LIMITS: BrowserLegLimits = { resumeWithinMs: 15_000 };

/** Sound that may wait for a client that reads slowly. */
const MAX_SENT_AHEAD_MS = 2000;
/** Messages kept for a client that is away; of more, the newest. */
const MAX_KEPT_MESSAGES = 100;

export interface BrowserLegOptions { callId: string; spec: BrowserLegSpec; events: BrowserLegEvents; now: () => number; limits: BrowserLegLimits }

export interface BrowserLegFigures extends HeardFigures {
  /** Frames that a slow or absent client was never sent. */
  unsentFrames: number;
  resumes: number;
}

type Presence =
  | { kind: 'expected'; timer: NodeJS.Timeout }
  | { kind: 'connected'; connection: Connection }
  | { kind: 'waiting'; timer: NodeJS.Timeout; kept: ServerMessage[] }
  | { kind: 'ended'; connection: Connection | undefined };

/** A browser's end of a call. It exists before the browser joins and outlives a broken socket for a while. */
export class BrowserLeg implements CallLeg {
  readonly #options: BrowserLegOptions;
  readonly #ended = new AbortController();
  readonly #admission: Admission;
  readonly #heard = new HeardQueue();
  readonly #decoder: SoundDecoder;
  readonly #encoder: SoundEncoder;
  #presence: Presence;
  #state: ServerMessage = { type: 'state', state: 'listening' };
  #muted = false;
  #warnedOfHaste = false;
  #played: { itemId: string; playedMs: number } | undefined;
  #unsentFrames = 0;
  #resumes = 0;

  /** Throws when the spec's formats or hash make no sense. */
  constructor(options: BrowserLegOptions) {
    const { spec } = options;
    this.#options = options;
    this.#admission = new Admission(spec.clientSecretHash);
    this.#decoder = new SoundDecoder(spec.audio.input);
    this.#encoder = new SoundEncoder(spec.audio.output);
    const joinWithinMs = Math.max(0, spec.joinBefore - Date.now());
    this.#presence = { kind: 'expected', timer: setTimeout(() => this.hangUp('session_not_joined'), joinWithinMs) };
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  get callId(): string {
    return this.#options.callId;
  }

  get sessionId(): string {
    return this.#options.spec.sessionId;
  }

  get allowedOrigins(): readonly string[] {
    return this.#options.spec.allowedOrigins;
  }

  /** True while a broken socket may still come back: the call's clock should stand still, so that nothing is said to nobody. */
  get waiting(): boolean {
    return this.#presence.kind === 'waiting';
  }

  /** The newest `playback.position`: ms of the item's sound that have left the browser's loudspeaker. */
  get played(): { itemId: string; playedMs: number } | undefined {
    return this.#played;
  }

  read(): AudioFrame | undefined {
    return this.#heard.read(this.#options.now());
  }

  write(frame: AudioFrame): void {
    if (this.#presence.kind !== 'connected' || !this.#presence.connection.sendAudio(this.#encoder.encode(frame), this.#encoder.bytesPerMs * MAX_SENT_AHEAD_MS)) {
      this.#unsentFrames++;
    }
  }

  /** Tells the browser to drop what it buffers; in order with the sound, so what is written next is played. */
  clear(): void {
    this.sendControl({ type: 'audio.clear' });
  }

  /** Sends a message, or keeps it for a client that is away and may come back. */
  sendControl(message: ServerMessage): void {
    if (message.type === 'state') this.#state = message;
    switch (this.#presence.kind) {
      case 'connected': this.#presence.connection.send(message); break;
      case 'waiting':
        if (message.type === 'state') break;
        this.#presence.kept.push(message);
        if (this.#presence.kept.length > MAX_KEPT_MESSAGES) this.#presence.kept.shift();
        break;
      case 'expected':
      case 'ended': break;
    }
  }

  /** Says `session.ended`, closes the socket and ends the leg. */
  hangUp(reason: EndReason): void {
    this.sendControl({ type: 'session.ended', end_reason: reason });
    this.#end(reason, (connection) => connection.close(1000, reason));
  }

  /** A browser's presence is watched by its socket's pulse and the leg's own timers. */
  checkPresence(): void {}

  /** Resolves once the socket is gone; a client that does not answer our Close frame has been cut then. */
  async close(): Promise<void> {
    if (!this.signal.aborted) this.hangUp('service_shutdown');
    if (this.#presence.kind === 'ended') await this.#presence.connection?.gone;
  }

  figures(): BrowserLegFigures {
    return { ...this.#heard.figures(), unsentFrames: this.#unsentFrames, resumes: this.#resumes };
  }

  /** Lets a connection in, or says why not. The right credential is spent by it. */
  admit(connection: Connection, credential: Credential): Verdict {
    if (this.signal.aborted) return { kind: 'refused', reason: 'the session is over' };
    const verdict = this.#admission.enter(credential);
    if (verdict.kind === 'refused') return verdict;
    const kept = this.#presence.kind === 'waiting' ? this.#presence.kept : [];
    this.#leavePresence();
    this.#presence = { kind: 'connected', connection };
    connection.listen({
      onText: (text) => this.#onText(text),
      onAudio: (bytes) => this.#onAudio(bytes),
      onGone: (departure) => this.#onGone(connection, departure),
    });
    this.#welcome(verdict.kind === 'resumed', kept);
    return verdict;
  }

  #welcome(resumed: boolean, kept: ServerMessage[]): void {
    const { callId, spec, events, now } = this.#options;
    const audio = { input: wireFormat(spec.audio.input), output: wireFormat(spec.audio.output) };
    this.sendControl({ type: 'session.ready', call_id: callId, audio, resume_token: this.#admission.renewResumeToken(), resumed });
    this.#heard.start(now());
    if (!resumed) return events.onJoined();
    this.#resumes++;
    for (const message of kept) this.sendControl(message);
    this.sendControl(this.#state);
    if (this.#muted) this.#heard.mute();
    events.onResumed?.();
  }

  #onText(text: string): void {
    const message = readClientMessage(text);
    switch (message.type) {
      case 'misunderstood':
        return this.sendControl({ type: 'error', code: message.code, message: message.message, fatal: false });
      case 'session.start':
        return;
      case 'ping':
        return this.sendControl({ type: 'pong', ...(message.id === undefined ? {} : { id: message.id }) });
      case 'session.end':
        return this.hangUp('caller_hangup');
      case 'context':
      case 'tool.result':
        return this.sendControl({ type: 'warning', code: 'not_supported', message: `${message.type} is not supported yet and was ignored.` });
      default:
        this.#note(message);
        this.#options.events.onControl(message);
    }
  }

  /** What the leg itself keeps of a message that the session is told of. */
  #note(message: ClientMessage): void {
    if (message.type === 'playback.position') this.#played = { itemId: message.item_id, playedMs: message.played_ms };
    if (message.type === 'mute') this.#mute(message.muted);
  }

  #mute(muted: boolean): void {
    this.#muted = muted;
    if (muted) this.#heard.mute();
  }

  #onAudio(bytes: Buffer): void {
    if (this.#muted) return;
    const fault = this.#decoder.check(bytes);
    if (fault !== undefined) return this.sendControl({ type: 'error', code: 'invalid_audio', message: fault, fatal: false });
    for (const frame of this.#decoder.decode(bytes)) this.#heard.push(frame);
    this.#options.events.onFrame();
    if (this.#heard.lostFrames > 0) this.#warnOfHaste();
  }

  /** Once a session. */
  #warnOfHaste(): void {
    if (this.#warnedOfHaste) return;
    this.#warnedOfHaste = true;
    const message = `Audio came more than ${MAX_QUEUED_MS} ms ahead of its time and was dropped. Send audio in real time.`;
    this.sendControl({ type: 'warning', code: 'audio_too_fast', message });
  }

  #onGone(connection: Connection, departure: Departure): void {
    if (this.#presence.kind !== 'connected' || this.#presence.connection !== connection) return;
    if (departure !== 'lost') return this.#end('caller_hangup', () => undefined);
    this.#heard.pause();
    const timer = setTimeout(() => this.#end('caller_hangup', () => undefined), this.#options.limits.resumeWithinMs);
    this.#presence = { kind: 'waiting', timer, kept: [] };
    this.#options.events.onLost?.();
  }

  #end(reason: EndReason, partWith: (connection: Connection) => void): void {
    if (this.signal.aborted) return;
    const connection = this.#presence.kind === 'connected' ? this.#presence.connection : undefined;
    if (this.#presence.kind !== 'connected') this.#leavePresence();
    this.#presence = { kind: 'ended', connection };
    this.#heard.pause();
    if (connection) partWith(connection);
    this.#ended.abort(reason);
  }

  /** Stops the timer of the presence that ends, or closes the connection that another replaces. */
  #leavePresence(): void {
    const presence = this.#presence;
    switch (presence.kind) {
      case 'expected':
      case 'waiting': clearTimeout(presence.timer); break;
      case 'connected': presence.connection.close(CLOSE.replaced, 'resumed elsewhere'); break;
      case 'ended': break;
    }
  }
}
