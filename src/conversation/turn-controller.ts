import { CallerWords, type TranscriptEvent } from './caller-words.ts';
import { endJudge, endWaitMs, isPunctuated } from './end-evidence.ts';
import { interruptRule, isInterruption, type InterruptRule, type InterruptSensitivity } from './interrupt-rules.ts';
import { wordWeigher, type WeighWords } from './spoken-words.ts';
import { VoiceBurst, type VoiceActivity } from './voice-burst.ts';

export interface AgentActivity {
  state: 'silent' | 'thinking' | 'speaking';
  /** What it says is on hold. */
  held: boolean;
  /** What it says must be heard to its end. */
  protected: boolean;
}

export interface TurnInput {
  /** Milliseconds heard so far, this frame included. */
  heardMs: number;
  voice: VoiceActivity;
  /** What arrived since the frame before, oldest first. */
  transcripts: readonly TranscriptEvent[];
  agent: AgentActivity;
}

/** `reason` is for the call's log. */
export type TurnDecision = { reason: string } & (
  /** The caller makes a sound over the agent: fall silent at once. */
  | { kind: 'hold' }
  /** It was a cough, an "uh-huh" or noise: go on. After an `interrupt`: say again what was cut off. */
  | { kind: 'resume' }
  /** The caller said "uh-huh" while the agent spoke: worth a line in the transcript, no answer. */
  | { kind: 'acknowledged'; text: string }
  /** It was speech: the agent's turn is over. */
  | { kind: 'interrupt' }
  /** The caller has stopped for long enough: have speech-to-text finish its utterance. */
  | { kind: 'closeUtterance' }
  /** The caller has finished: answer. */
  | { kind: 'userTurn'; text: string }
);

export interface TurnSettings { interruptSensitivity: InterruptSensitivity; silenceWaitMs: number; language: string }

/** A reply nobody hears yet waits for a sound that lasts longer than a click. */
const THINKING_HOLD_MS = 120;
/** Silence over a held agent after which the utterance is closed, so that its text decides. */
const HELD_CLOSE_MS = 300;
/** Silence over a held agent after which it goes on, text or not. */
const HELD_RESUME_MS = 1500;
/** Voice without a single word over a held agent: a television, not a caller. The agent goes on over this run. */
const WORDLESS_VOICE_MS = 6000;
/** "Yes" this shortly before the agent's end is an answer, earlier it is an acknowledgement. */
const EARLY_ANSWER_MS = 1500;
/** A final later than this after its utterance was closed is not waited for when a partial is there… */
const FINAL_WAIT_MS = 1500;
/** …and when nothing is (the slowest vendors need 1.9 s at p99). */
const FIRST_TEXT_WAIT_MS = 2500;

/**
 * Who speaks when. Pure: heard frames are its clock, it is told everything and touches nothing. Each word of the
 * caller leaves it exactly once, in a `userTurn` or as `acknowledged`.
 */
export class TurnController {
  readonly #settings: TurnSettings;
  readonly #rule: InterruptRule;
  readonly #weigh: WeighWords;
  readonly #judgeEnd: ReturnType<typeof endJudge>;
  readonly #words = new CallerWords();
  /** When `closeUtterance` was decided for the newest voice. */
  #closedAtMs: number | undefined;
  /** The agent was interrupted, and what the caller says is not yet known. */
  #interrupted = false;
  readonly #burst = new VoiceBurst();
  /** A burst of voice, by its start, that the agent goes on over. */
  #ignoredBurstMs: number | undefined;
  /** When the agent fell silent; undefined while it has the floor. */
  #agentEndedMs: number | undefined = 0;
  #punctuated = false;

  /** What the caller has said that no decision handed out yet. */
  get unanswered(): string {
    return this.#words.text;
  }

  constructor(settings: TurnSettings) {
    this.#settings = settings;
    this.#rule = interruptRule(settings.interruptSensitivity);
    this.#weigh = wordWeigher(settings.language);
    this.#judgeEnd = endJudge(settings.language);
  }

  /** Called once per heard frame. */
  next(input: TurnInput): TurnDecision | undefined {
    for (const event of input.transcripts) {
      this.#words.add(event, input.heardMs, input.voice);
      this.#punctuated ||= event.kind !== 'partial' && isPunctuated(event.text);
    }
    if (input.voice.speaking) this.#closedAtMs = undefined;
    this.#burst.next(input.voice);
    const { agent } = input;
    this.#agentEndedMs = agent.state === 'silent' ? (this.#agentEndedMs ?? input.heardMs) : undefined;
    if (agent.state === 'silent') return this.#endOfTurn(input);
    if (agent.protected || (agent.state === 'speaking' && this.#rule.never)) return this.#listenOnly(input);
    return agent.held ? this.#whileHeld(input) : this.#overAgent(input);
  }

  /** The agent has the floor whatever is said: close utterances so that the words are there when it has finished. */
  #listenOnly({ agent, heardMs, voice }: TurnInput): TurnDecision | undefined {
    if (agent.held) return { kind: 'resume', reason: 'the agent may not be interrupted here' };
    if (this.#words.covers(voice.lastVoicedMs) || voice.speaking || this.#closedAtMs !== undefined) return undefined;
    if (voice.silentMs < this.#settings.silenceWaitMs) return undefined;
    return this.#close(heardMs, `silent ${voice.silentMs} ms while the agent may not be interrupted`);
  }

  #overAgent({ agent, heardMs, voice }: TurnInput): TurnDecision | undefined {
    const thinking = agent.state === 'thinking';
    if (voice.speaking && this.#burst.startMs !== this.#ignoredBurstMs) {
      const { voicedMs } = this.#burst;
      if (voicedMs >= (thinking ? THINKING_HOLD_MS : this.#rule.holdAfterMs)) return { kind: 'hold', reason: `voice for ${voicedMs} ms over the agent` };
    }
    const { text } = this.#words;
    if (thinking && text && this.#weigh(text).realWords > 0) {
      return this.#interrupt('the caller said more before the answer began');
    }
    if (voice.speaking || this.#words.covers(voice.lastVoicedMs) || this.#closedAtMs !== undefined) return undefined;
    if (voice.silentMs < this.#settings.silenceWaitMs) return undefined;
    return this.#close(heardMs, `silent ${voice.silentMs} ms after a sound that stopped nobody`);
  }

  #whileHeld({ agent, heardMs, voice }: TurnInput): TurnDecision | undefined {
    const { text } = this.#words;
    const evidence = this.#weigh(text);
    const { voicedMs } = this.#burst;
    // Nobody has heard anything of a reply still being thought of: one word is enough to take it back.
    const speech = agent.state === 'thinking' ? evidence.realWords > 0 : isInterruption(this.#rule, { ...evidence, voicedMs });
    if (speech) return this.#interrupt(`${evidence.realWords} words, ${voicedMs} ms voiced`);
    if (voice.speaking) {
      if (voicedMs < WORDLESS_VOICE_MS) return undefined;
      this.#ignoredBurstMs = this.#burst.startMs;
      return { kind: 'resume', reason: `${voicedMs} ms of voice and no word of it` };
    }
    if (this.#words.covers(voice.lastVoicedMs)) return this.#judgeFinished(evidence.realWords);
    if (voice.silentMs >= HELD_RESUME_MS) {
      this.#words.settle(heardMs);
      return this.#judgeFinished(evidence.realWords);
    }
    if (this.#closedAtMs !== undefined || voice.silentMs < HELD_CLOSE_MS) return undefined;
    return this.#close(heardMs, `silent ${voice.silentMs} ms over a held agent`);
  }

  /** The sound over the agent is over and its text is known, or given up on. */
  #judgeFinished(realWords: number): TurnDecision {
    if (realWords === 0) return { kind: 'resume', reason: this.#words.text ? 'an acknowledgement' : 'no words: a cough or noise' };
    // A short answer is speech all the same; where more words are asked for, they wait for the agent's end.
    if (realWords >= this.#rule.wordsWhenFinished) return this.#interrupt(`a finished utterance of ${realWords} words`);
    return { kind: 'resume', reason: `${realWords} words are too few to interrupt` };
  }

  #endOfTurn({ heardMs, voice }: TurnInput): TurnDecision | undefined {
    if (voice.speaking) return undefined;
    const { text } = this.#words;
    const covered = this.#words.covers(voice.lastVoicedMs);
    if (covered && text === '') return this.#nothingSaid(heardMs);
    if (covered && this.#isAcknowledgement(text, voice)) {
      return { kind: 'acknowledged', text: this.#words.take(heardMs), reason: 'said while the agent spoke' };
    }
    const evidence = this.#judgeEnd(text, this.#punctuated);
    const waitMs = endWaitMs(evidence, this.#settings.silenceWaitMs);
    if (voice.silentMs < waitMs) return undefined;
    if (covered) return this.#userTurn(heardMs, `waited ${voice.silentMs} ms: ${evidence}`);
    if (this.#closedAtMs === undefined) return this.#close(heardMs, `waited ${voice.silentMs} ms: ${evidence}, final text not here yet`);
    const lateMs = heardMs - this.#closedAtMs;
    if (lateMs < (text ? FINAL_WAIT_MS : FIRST_TEXT_WAIT_MS)) return undefined;
    this.#words.settle(heardMs);
    return text ? this.#userTurn(heardMs, `no final text within ${lateMs} ms: took the newest partial`) : this.#nothingSaid(heardMs);
  }

  /** Silence, and no words wait. After an interruption that turned out to be noise the agent must not stay silent. */
  #nothingSaid(heardMs: number): TurnDecision | undefined {
    if (!this.#interrupted) return undefined;
    this.#interrupted = false;
    this.#words.settle(heardMs);
    return { kind: 'resume', reason: 'interrupted by a sound without words' };
  }

  #isAcknowledgement(text: string, voice: VoiceActivity): boolean {
    const early = voice.lastVoicedMs + EARLY_ANSWER_MS < (this.#agentEndedMs ?? 0);
    return early && this.#weigh(text).realWords === 0;
  }

  #interrupt(reason: string): TurnDecision {
    this.#interrupted = true;
    return { kind: 'interrupt', reason };
  }

  #close(heardMs: number, reason: string): TurnDecision {
    this.#closedAtMs = heardMs;
    return { kind: 'closeUtterance', reason };
  }

  #userTurn(heardMs: number, reason: string): TurnDecision {
    this.#interrupted = false;
    return { kind: 'userTurn', text: this.#words.take(heardMs), reason };
  }
}
