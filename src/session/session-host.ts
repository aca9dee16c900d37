import type { MediaClock } from '../../media/clock.ts';
import { Recorder } from '../../media/recorder.ts';
import type { PortPool } from '../../media/rtp/port-pool.ts';
import type { BrowserLegSpec, CallCommand, CallSummary, CommandOutcome, FromWorker, OpenCall, PhoneLegSpec, ToWorker } from '../calls/worker-protocol.ts';
import { ComposedConversation } from '../conversation/composed.ts';
import type { CallLeg } from '../conversation/call-leg.ts';
import type { Conversation } from '../conversation/conversation.ts';
import type { Engines } from '../engines/create-engine.ts';
import { OFFLINE_AGENT_NOTICE, OFFLINE_MODEL } from '../engines/local/offline-agent.ts';
import type { EndReason } from '../end-reason.ts';
import { BrowserBridge } from './browser-bridge.ts';
import type { BrowserServer } from './browser/browser-server.ts';
import { CallFigures } from './call-figures.ts';
import { CallSession, type SessionLeg } from './call-session.ts';
import { conversationEvents } from './conversation-events.ts';
import { PhoneLeg } from './phone-leg.ts';

export interface SessionHostOptions {
  engines: Engines;
  clock: MediaClock;
  browsers: BrowserServer;
  host: string;
  ports: PortPool;
  mediaTimeoutMs: number;
  /** This thread's clock, ms. */
  now: () => number;
  post: (message: FromWorker) => void;
}

interface LiveCall { session: CallSession; conversation: Conversation; figures: CallFigures; phone?: PhoneLeg }

/** Every live call of one media worker: opens, answers and ends them as the main thread says. */
export class SessionHost {
  readonly #options: SessionHostOptions;
  readonly #calls = new Map<string, LiveCall>();
  /** Calls being opened, with the reason to end them at once if one came meanwhile. */
  readonly #opening = new Map<string, EndReason | undefined>();

  constructor(options: SessionHostOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#calls.size;
  }

  handle(message: Exclude<ToWorker, { type: 'close' } | { type: 'ping' }>): void {
    switch (message.type) {
      case 'open': void this.#open(message); break;
      case 'answered': this.#answered(message.callId); break;
      case 'media': this.#calls.get(message.callId)?.phone?.update(message.leg); break;
      case 'hangUp': this.#hangUp(message.callId, message.reason); break;
      case 'command': {
        const { callId, number, command } = message;
        this.#options.post({ type: 'commandDone', callId, number, outcome: obey(this.#calls.get(callId), command) });
        break;
      }
    }
  }

  /** Ends every call with `service_shutdown` and resolves once all are closed. */
  async close(): Promise<void> {
    const sessions = [...this.#calls.values()].map((call) => call.session);
    for (const session of sessions) session.hangUp('service_shutdown');
    await Promise.all(sessions.map((session) => session.ended()));
  }

  async #open(message: OpenCall): Promise<void> {
    const { callId } = message;
    this.#opening.set(callId, undefined);
    try {
      if (message.leg.kind === 'phone') await this.#openPhone(message, message.leg);
      else await this.#openBrowser(message, message.leg);
    } catch (error) {
      this.#calls.delete(callId);
      this.#options.post({ type: 'ended', callId, reason: 'internal_error', detail: String(error), summary: new CallFigures().summary() });
    } finally {
      this.#opening.delete(callId);
    }
  }

  async #openPhone(message: OpenCall, spec: PhoneLegSpec): Promise<void> {
    const { callId } = message;
    const { now, host, ports, mediaTimeoutMs } = this.#options;
    let onDtmf: (digit: string) => void = () => {};
    const leg = await PhoneLeg.open(spec, {
      host,
      ports,
      now,
      mediaTimeoutMs,
      onFrame: () => this.#calls.get(callId)?.session.hear(),
      onDtmf: (digit) => onDtmf(digit),
    });
    const figures = new CallFigures();
    const conversation = await this.#start(message, leg, figures, { phone: leg }, () => figures.summary(phoneQuality(leg)));
    onDtmf = (digit) => conversation.dtmf(digit);
    await conversation.prepareOpening();
    if (!leg.signal.aborted) this.#options.post({ type: 'opened', callId, rtpPort: leg.port });
  }

  async #openBrowser(message: OpenCall, spec: BrowserLegSpec): Promise<void> {
    const { callId } = message;
    const { browsers, now, post } = this.#options;
    const figures = new CallFigures();
    const bridge = new BrowserBridge({
      callId,
      onFrame: () => this.#calls.get(callId)?.session.hear(),
      onJoined: () => {
        figures.answered(now());
        post({ type: 'joined', callId });
        this.#calls.get(callId)?.session.start();
      },
    });
    const leg = browsers.expect(callId, spec, bridge);
    const conversation = await this.#start(message, leg, figures, { bridge }, () => figures.summary());
    bridge.attach(leg, conversation);
    post({ type: 'opened', callId });
    await conversation.prepareOpening();
  }

  /** From an open leg to a session that waits for its answer. Closes the leg when anything on the way fails. */
  async #start(
    message: OpenCall, leg: SessionLeg, figures: CallFigures, far: { phone?: PhoneLeg; bridge?: BrowserBridge }, summary: () => CallSummary,
  ): Promise<ComposedConversation> {
    const { callId } = message;
    const { clock, post } = this.#options;
    try {
      const conversation = this.#converse(message, leg, figures, far.bridge);
      const recorder = await this.#record(message);
      const session = new CallSession({
        callId, leg, conversation, recorder, clock, summary,
        post: (last) => {
          this.#calls.delete(callId);
          post(last);
        },
      });
      this.#calls.set(callId, { session, conversation, figures, ...(far.phone ? { phone: far.phone } : {}) });
      const reason = this.#opening.get(callId);
      if (reason) leg.hangUp(reason);
      return conversation;
    } catch (error) {
      await leg.close();
      throw error;
    }
  }

  #converse(message: OpenCall, leg: CallLeg, figures: CallFigures, bridge: BrowserBridge | undefined): ComposedConversation {
    const { engines, now, post } = this.#options;
    const { agent, callId } = message;
    if (agent.llm.model === OFFLINE_MODEL) post({ type: 'log', callId, entry: { at: Date.now(), source: 'engine', event: OFFLINE_AGENT_NOTICE } });
    return new ComposedConversation({
      agent,
      engines: { stt: engines.stt(agent.stt.model), llm: engines.llm(agent.llm.model), tts: engines.tts(agent.tts.model), vad: engines.vad },
      leg,
      now,
      events: conversationEvents({ callId, figures, now, post, bridge }),
    });
  }

  /** A call whose recording cannot be opened goes on without one; the log says why. */
  async #record(message: OpenCall): Promise<Recorder | undefined> {
    if (message.recordingPath === undefined) return undefined;
    const onError = (error: Error): void => {
      this.#options.post({ type: 'log', callId: message.callId, entry: { at: Date.now(), source: 'error', event: 'recording_failed', detail: { message: error.message } } });
    };
    try {
      return await Recorder.open(message.recordingPath, { onError });
    } catch (error) {
      onError(error as Error);
      return undefined;
    }
  }

  #answered(callId: string): void {
    const call = this.#calls.get(callId);
    if (!call) return;
    call.phone?.answered();
    call.figures.answered(this.#options.now());
    call.session.start();
  }

  #hangUp(callId: string, reason: EndReason): void {
    if (this.#opening.has(callId)) this.#opening.set(callId, reason);
    this.#calls.get(callId)?.session.hangUp(reason);
  }
}

function obey(call: LiveCall | undefined, command: CallCommand): CommandOutcome {
  if (!call?.session.inProgress) return 'not_in_progress';
  switch (command.kind) {
    case 'say': return call.conversation.speak(command.text) ? 'done' : 'too_many';
    case 'context':
      call.conversation.inform(command.text);
      return 'done';
    case 'dtmf': {
      const taken = call.phone?.press(command.digits);
      if (taken === undefined) return 'not_possible';
      return taken ? 'done' : 'too_many';
    }
  }
}

function phoneQuality(leg: PhoneLeg): NonNullable<CallSummary['quality']> {
  const { packetsReceived, lostPct, jitterMs, rttMs, mos } = leg.stats();
  return { codec: leg.codec, packetsReceived, packetsLostPct: lostPct, jitterMs, ...(rttMs === undefined ? {} : { rttMs }), mos };
}
