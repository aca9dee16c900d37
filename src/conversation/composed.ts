import { FRAME_MS, SILENCE, type AudioFrame } from '../../media/audio-frame.ts';
import { Playout } from '../../media/playout.ts';
import type { AgentSpec, CallLogEntry } from '../calls/worker-protocol.ts';
import type { EndReason } from '../end-reason.ts';
import { EngineError, type LlmEngine, type SttEngine, type TtsEngine, type VadEngine } from '../engines/engine.ts';
import type { CallLeg } from './call-leg.ts';
import type { Conversation } from './conversation.ts';
import type { ConversationEvents } from './conversation-events.ts';
import { Ear } from './ear.ts';
import { KeypadEntry } from './keypad-entry.ts';
import { GO_ON_NOTE } from './prompt.ts';
import { SilenceWatch } from './silence-watch.ts';
import { Speaker, type Outcome } from './speaker.ts';
import { linesFor, threadLines, type Lines, type RenderedLines } from './spoken-lines.ts';
import { Transcript } from './transcript.ts';
import { TurnController, type TurnDecision, type TurnInput } from './turn-controller.ts';
import { TurnStopwatch } from './turn-stopwatch.ts';

export type { AgentAudioEvent, ConversationEvents } from './conversation-events.ts';

export interface ComposedOptions {
  agent: AgentSpec;
  engines: { stt: SttEngine; llm: LlmEngine; tts: TtsEngine; vad: VadEngine };
  leg: CallLeg;
  playout?: Playout;
  events: ConversationEvents;
  /** This thread's clock, ms. */
  now: () => number;
  /** How long `prepareOpening` waits for the opening's first sound, ms. */
  openingWaitMs?: number;
  /** Lines kept ready for the time the voice engine fails. */
  lines?: RenderedLines;
}

const OPENING_WAIT_MS = 3000;
/** A model that has said nothing after this long has failed, whatever its adapter thinks. */
const THINKING_LIMIT_MS = 20_000;
/** The last words before hanging up may take this long. */
const LAST_WORDS_MS = 15_000;
/** The agent apologises once; a second failed turn in a row ends the call. */
const MAX_FAILED_TURNS = 2;
const STALE_SOUND_MS = 4000;
const MAX_TYPED_CHARS = 4000;
const MAX_TYPED_WAITING = 16;
const MAX_TO_SAY = 16;

/** Speech-to-text, a language model and text-to-speech as one conversation. */
export class ComposedConversation implements Conversation {
  readonly #options: ComposedOptions;
  readonly #agent: AgentSpec;
  readonly #events: ConversationEvents;
  readonly #signal: AbortSignal;
  readonly #lines: Lines;
  readonly #playout: Playout;
  readonly #transcript: Transcript;
  readonly #ear: Ear;
  readonly #speaker: Speaker;
  readonly #turns: TurnController;
  readonly #silence: SilenceWatch;
  readonly #keypad = new KeypadEntry();
  /** What the turn controller is told, filled anew every frame. */
  readonly #heard: TurnInput;
  /** Typed texts and keypad entries, waiting for their turn. */
  readonly #typed: string[] = [];
  /** Texts that the agent was told to say, waiting for silence. */
  readonly #toSay: string[] = [];
  /** Where the words the caller is saying began, and the newest voice of them. */
  #callerStartMs: number | undefined;
  #callerEndMs = 0;
  /** When the caller's silence had lasted long enough, while the text was still missing. */
  #waitedAt: number | undefined;
  #failedTurns = 0;
  /** The call ends once this item was said. */
  #ending: { reason: EndReason; itemId: string; byMs: number } | undefined;

  constructor(options: ComposedOptions) {
    const { agent, engines, leg, events, now } = options;
    this.#options = options;
    this.#agent = agent;
    this.#events = events;
    this.#signal = leg.signal;
    this.#lines = linesFor(agent.language);
    this.#playout = options.playout ?? new Playout();
    this.#transcript = new Transcript((item) => events.onTranscript(item));
    this.#turns = new TurnController({ ...agent.turnTaking, language: agent.language });
    this.#silence = new SilenceWatch(agent.silence);
    this.#ear = new Ear({
      stt: engines.stt, vad: engines.vad, language: agent.stt.language, endpointingMs: agent.stt.endpointingMs, signal: leg.signal, now,
      onUsage: (usage) => events.onUsage(usage),
      onPartial: (text) => events.onPartial(text),
      onReopened: (error) => this.#log('engine', 'stt_reopened', { message: error.message }),
      onLost: (error) => {
        this.#log('error', 'stt_failed', { message: error.message });
        this.#end('stt_failed', this.#lines.cannotGoOn);
      },
    });
    leg.signal.addEventListener('abort', () => this.#keepLastWords(), { once: true });
    this.#speaker = new Speaker({
      agent, llm: engines.llm, tts: engines.tts, playout: this.#playout, transcript: this.#transcript, events,
      lines: options.lines ?? threadLines,
      callSignal: leg.signal,
      elapsedMs: () => this.#ear.heardMs,
      onOutcome: (outcome) => this.#onOutcome(outcome),
      onBroken: (error) => {
        leg.hangUp('internal_error');
        this.#log('error', 'conversation_broken', { message: error instanceof Error ? (error.stack ?? error.message) : String(error) });
      },
    });
    this.#heard = { heardMs: 0, voice: this.#ear.voice, transcripts: [], agent: this.#speaker.activity };
  }

  /** Renders the opening while it rings; resolves once its first sound is there, has failed, or has been waited for long enough. */
  async prepareOpening(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, this.#options.openingWaitMs ?? OPENING_WAIT_MS);
    const stop = (): void => resolve();
    this.#signal.addEventListener('abort', stop, { once: true });
    const opening = this.#speaker.prepareOpening();
    await Promise.race([opening, promise]);
    clearTimeout(timer);
    this.#signal.removeEventListener('abort', stop);
    void opening.then(() => this.#speaker.render([this.#lines.apology, this.#lines.cannotGoOn]));
  }

  start(): void {
    this.#speaker.open();
    if (!this.#speaker.turn) this.#events.onState('listening');
  }

  hear(frame: AudioFrame): void {
    if (this.#signal.aborted) return;
    this.#ear.hear(frame);
    const { heardMs, voice } = this.#ear;
    if (voice.speaking) {
      // A sound long ago that nothing came of does not begin these words.
      if (voice.speechStartMs - this.#callerEndMs > STALE_SOUND_MS) this.#callerStartMs = undefined;
      this.#callerStartMs ??= voice.speechStartMs;
      this.#callerEndMs = voice.lastVoicedMs;
      this.#waitedAt = undefined;
    }
    const heard = this.#heard;
    heard.heardMs = heardMs;
    heard.voice = voice;
    heard.transcripts = this.#ear.take();
    heard.agent = this.#speaker.activity;
    const decision = this.#turns.next(heard);
    if (decision) this.#act(decision);
    const keys = this.#keypad.take(heardMs);
    if (keys) this.#typed.push(`[keypad] ${keys}`);
    this.#takeTyped();
    this.#sayNext();
    this.#watch();
  }

  say(): AudioFrame {
    return this.#signal.aborted ? SILENCE : this.#playout.next();
  }

  /** A key of the caller's telephone. */
  dtmf(digit: string): void {
    this.#keypad.press(digit, this.#ear.heardMs);
    this.#silence.broken();
  }

  /** What the caller typed instead of saying it; beyond 4000 characters it is cut. */
  inputText(text: string): void {
    const typed = text.trim().slice(0, MAX_TYPED_CHARS);
    if (typed && this.#typed.length < MAX_TYPED_WAITING) this.#typed.push(typed);
  }

  speak(text: string): boolean {
    if (this.#toSay.length >= MAX_TO_SAY) return false;
    this.#toSay.push(text);
    return true;
  }

  inform(text: string): void {
    this.#speaker.inform(text);
    this.#log('session', 'context_added', { characters: text.length });
  }

  /** The far end asks the agent to stop. */
  interrupt(): void {
    const { state, protected: isProtected } = this.#speaker.activity;
    if (state !== 'silent' && !isProtected) this.#interrupt();
  }

  /** The far end has played this much of an item. Positions of items that are over, or out of range, are ignored. */
  played(itemId: string, playedMs: number): void {
    if (this.#speaker.turn?.itemId === itemId && playedMs >= 0) this.#playout.heardUpTo(playedMs);
  }

  #act(decision: TurnDecision): void {
    const { kind, reason } = decision;
    const { heardMs } = this.#ear;
    this.#log('turn', kind, { reason, heardMs });
    switch (kind) {
      case 'hold':
        this.#speaker.hold();
        if (this.#speaker.activity.state === 'speaking') this.#events.onClear();
        break;
      case 'resume': this.#resume(); break;
      case 'interrupt': this.#interrupt(); break;
      case 'closeUtterance':
        this.#waitedAt = this.#options.now();
        this.#ear.closeUtterance();
        break;
      case 'acknowledged':
        this.#ear.closeUtterance();
        this.#callerSaid(decision.text);
        break;
      case 'userTurn': this.#answer(decision.text); break;
    }
  }

  #resume(): void {
    this.#ear.closeUtterance();
    const { held, state } = this.#speaker.activity;
    if (state === 'silent') {
      this.#speaker.reply({ note: GO_ON_NOTE });
      return;
    }
    if (held && state === 'speaking') this.#events.onInterruption('false_alarm');
    this.#speaker.resume();
  }

  #interrupt(): void {
    const { state } = this.#speaker.activity;
    this.#speaker.interrupt();
    if (state !== 'speaking') return;
    this.#events.onInterruption('by_caller');
    this.#events.onClear();
  }

  #answer(text: string): void {
    const stopwatch = this.#stopwatch();
    this.#ear.closeUtterance();
    this.#callerSaid(text);
    this.#speaker.reply({ stopwatch });
  }

  #callerSaid(text: string): void {
    const { heardMs, voice } = this.#ear;
    const endedMs = voice.speaking ? heardMs : voice.lastVoicedMs;
    this.#transcript.add({ role: 'caller', text, startedMs: Math.min(this.#callerStartMs ?? endedMs, endedMs), endedMs });
    this.#callerStartMs = undefined;
    this.#silence.broken();
  }

  /** The caller hung up while speaking: what was understood so far is theirs, and stays. */
  #keepLastWords(): void {
    const text = this.#turns.unanswered;
    if (text) this.#callerSaid(text);
  }

  #stopwatch(): TurnStopwatch | undefined {
    const { now } = this.#options;
    const voiceAt = this.#ear.arrivedAt(this.#ear.voice.lastVoicedMs);
    if (voiceAt === undefined) return undefined;
    const stopwatch = new TurnStopwatch(now, voiceAt);
    stopwatch.mark('waited', this.#waitedAt ?? now());
    stopwatch.mark('text');
    this.#waitedAt = undefined;
    return stopwatch;
  }

  /** Typed words are a turn of their own; they wait for what must not be interrupted. */
  #takeTyped(): void {
    const { state, protected: isProtected } = this.#speaker.activity;
    if (this.#typed.length === 0 || (state !== 'silent' && isProtected)) return;
    if (state !== 'silent') this.#interrupt();
    const { heardMs } = this.#ear;
    for (const text of this.#typed.splice(0)) this.#transcript.add({ role: 'caller', text, startedMs: heardMs, endedMs: heardMs });
    this.#silence.broken();
    this.#speaker.reply({});
  }

  /** What it was told to say waits until nobody speaks, and until the caller has had an answer. */
  #sayNext(): void {
    if (this.#toSay.length === 0 || this.#ending || this.#speaker.activity.state !== 'silent') return;
    const { speaking, silentMs } = this.#ear.voice;
    if (speaking || silentMs < this.#agent.turnTaking.silenceWaitMs || this.#turns.unanswered !== '') return;
    this.#speaker.line(this.#toSay.shift() ?? '', { protected: false });
  }

  /** Limits of time, on the clock of the frames heard. */
  #watch(): void {
    const { heardMs, voice } = this.#ear;
    if (this.#ending) {
      if (heardMs >= this.#ending.byMs) this.#options.leg.hangUp(this.#ending.reason);
      return;
    }
    const { turn } = this.#speaker;
    if (heardMs >= this.#agent.maxDurationMs) {
      this.#end('max_duration', this.#lines.timeIsUp);
    } else if (turn?.phase === 'thinking' && heardMs - turn.begunMs >= THINKING_LIMIT_MS) {
      turn.abort(new EngineError('timeout', `no reply within ${THINKING_LIMIT_MS} ms`, { retry: false }));
    } else if (!turn && !voice.speaking) {
      const verdict = this.#silence.next(FRAME_MS);
      if (verdict === 'remind') this.#speaker.line(this.#agent.silence.reminderText, { protected: false });
      if (verdict === 'hang_up') this.#options.leg.hangUp('silence_timeout');
    }
  }

  #onOutcome(outcome: Outcome): void {
    if (this.#signal.aborted) return;
    if (this.#ending) {
      if (this.#ending.itemId === outcome.itemId) this.#options.leg.hangUp(this.#ending.reason);
      return;
    }
    switch (outcome.kind) {
      case 'said':
        if (outcome.source === 'reply') this.#failedTurns = 0;
        break;
      case 'endCall':
        if (outcome.silent) this.#end('agent_hangup', this.#lines.goodbye);
        else this.#options.leg.hangUp('agent_hangup');
        break;
      case 'failed': this.#onFailure(outcome.component, outcome.error); break;
      case 'cut': break;
    }
  }

  #onFailure(component: 'llm' | 'tts', error: unknown): void {
    this.#log('error', `${component}_failed`, { message: error instanceof Error ? error.message : String(error) });
    this.#failedTurns++;
    const { apology, cannotGoOn } = this.#lines;
    const speakable = component === 'llm' || this.#speaker.isRendered(apology);
    if (speakable && this.#failedTurns < MAX_FAILED_TURNS) this.#speaker.line(apology, { protected: false });
    else if (component === 'llm' || this.#speaker.isRendered(cannotGoOn)) this.#end(`${component}_failed`, cannotGoOn);
    else this.#options.leg.hangUp(`${component}_failed`);
  }

  /** Says its last words, which nothing stops, and hangs up. */
  #end(reason: EndReason, lastWords: string): void {
    if (this.#ending || this.#signal.aborted) return;
    const byMs = this.#ear.heardMs + LAST_WORDS_MS;
    if (this.#speaker.activity.state === 'speaking') this.#events.onClear();
    this.#ending = { reason, byMs, itemId: this.#speaker.line(lastWords, { protected: true }) };
  }

  #log(source: CallLogEntry['source'], event: string, detail: Record<string, unknown>): void {
    this.#events.onLog({ at: Date.now(), source, event, detail });
  }
}
