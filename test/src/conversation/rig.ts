import { FRAME_MS, FRAME_SAMPLES, SILENCE, type AudioFrame } from '../../../media/audio-frame.ts';
import type { AgentSpec, CallLogEntry, TranscriptItem, TurnLatency } from '../../../src/calls/worker-protocol.ts';
import { ComposedConversation, type AgentAudioEvent, type ComposedOptions, type ConversationEvents } from '../../../src/conversation/composed.ts';
import { RenderedLines } from '../../../src/conversation/spoken-lines.ts';
import type { VadEngine, VadWindow } from '../../../src/engines/engine.ts';
import { FakeLeg } from '../../support/fake-leg.ts';
import { ManualWaitClock, ScriptedLlm, ScriptedStt, ScriptedTts, type LlmScript, type SttScript, type TtsScript } from '../../support/scripted-engines.ts';

const VOICE: AudioFrame = new Int16Array(FRAME_SAMPLES).fill(5000);

/** Loud frames are speech, quiet ones are not; decided at once. */
const loudnessVad: VadEngine = {
  open: () => {
    let windows: VadWindow[] = [];
    let endMs = 0;
    return {
      write: (frame) => void windows.push({ probability: (frame[0] ?? 0) > 1000 ? 1 : 0, endMs: (endMs += FRAME_MS), windowMs: FRAME_MS }),
      take: () => {
        const taken = windows;
        windows = [];
        return taken;
      },
      close: () => {},
    };
  },
};

export function agentSpec(changes: Partial<AgentSpec> = {}): AgentSpec {
  return {
    id: 'a', version: 1, systemPrompt: 'You take bookings.', openingMessage: 'Hello, how can I help?', language: 'en-US',
    stt: { model: 'scripted/stt', language: 'en', endpointingMs: 300 },
    llm: { model: 'scripted/llm', temperature: 0.5, maxTokens: 100 },
    tts: { model: 'scripted/tts', voice: 'v', speed: 1, stability: 0.5, similarityBoost: 0.5 },
    turnTaking: { interruptSensitivity: 'normal', silenceWaitMs: 500 },
    protectOpening: false,
    silence: { reminderAfterMs: 10_000, reminderText: 'Are you still there?', maxReminders: 1, hangUpAfterMs: 30_000 },
    maxDurationMs: 3_600_000,
    ...changes,
  };
}

export interface RigOptions {
  agent?: Partial<AgentSpec>;
  stt?: Partial<SttScript>;
  llm?: Partial<LlmScript>;
  tts?: Partial<TtsScript>;
  engines?: Partial<ComposedOptions['engines']>;
  lines?: RenderedLines;
}

/** A call on a clock of its own: each step is 20 ms heard and 20 ms said. */
export class Rig {
  readonly clock = new ManualWaitClock();
  readonly leg = new FakeLeg();
  readonly llm: ScriptedLlm;
  readonly tts: ScriptedTts;
  readonly conversation: ComposedConversation;
  readonly states: string[] = [];
  readonly log: CallLogEntry[] = [];
  readonly turns: TurnLatency[] = [];
  readonly interruptions: string[] = [];
  readonly audio: AgentAudioEvent[] = [];
  readonly usage: string[] = [];
  readonly sent: TranscriptItem[] = [];

  constructor(options: RigOptions = {}) {
    const { clock } = this;
    this.llm = new ScriptedLlm({ replies: [{ text: ['All right. '] }], firstMs: 100, ...options.llm }, clock);
    this.tts = new ScriptedTts({ firstMs: 40, wordMs: 200, ...options.tts }, clock);
    const stt = new ScriptedStt({ utterances: [], finalMs: 60, eagerMs: 80, ...options.stt }, clock);
    this.conversation = new ComposedConversation({
      agent: agentSpec(options.agent),
      engines: { stt, llm: this.llm, tts: this.tts, vad: loudnessVad, ...options.engines },
      leg: this.leg,
      events: this.#events(),
      now: () => clock.nowMs,
      openingWaitMs: 20,
      lines: options.lines ?? new RenderedLines(),
    });
  }

  /** Newest version of each item, as `role: what was heard`. */
  get transcript(): string[] {
    const newest = new Map(this.sent.map((item) => [item.position, item]));
    return [...newest.values()].map((item) => `${item.role}: ${item.heardText ?? item.text}${item.interrupted ? ' —' : ''}`);
  }

  /** Messages of the newest question to the model, without the instructions. */
  get history(): string[] {
    return (this.llm.asked.at(-1)?.messages ?? []).slice(1).map((message) => `${message.role}: ${message.content}`);
  }

  decisions(kind?: string): string[] {
    const turns = this.log.filter((entry) => entry.source === 'turn');
    return turns.filter((entry) => kind === undefined || entry.event === kind).map((entry) => entry.event);
  }

  /** The phone rings and is answered. */
  async answer(): Promise<void> {
    const opening = this.conversation.prepareOpening();
    await this.clock.advance(100);
    await opening;
    this.conversation.start();
  }

  /** Answered, and the opening heard to its end. */
  async greeted(): Promise<void> {
    await this.answer();
    await this.silence(1500);
  }

  async voice(ms: number): Promise<void> {
    await this.#run(VOICE, ms);
  }

  async silence(ms: number): Promise<void> {
    await this.#run(SILENCE, ms);
  }

  async #run(frame: AudioFrame, ms: number): Promise<void> {
    for (let done = 0; done < ms && !this.leg.signal.aborted; done += FRAME_MS) {
      this.conversation.hear(frame);
      await this.clock.advance(FRAME_MS);
      this.leg.write(this.conversation.say());
    }
  }

  #events(): ConversationEvents {
    return {
      onState: (state) => void this.states.push(state),
      onTranscript: (item) => void this.sent.push(item),
      onPartial: () => {},
      onLog: (entry) => void this.log.push(entry),
      onTurn: (latency) => void this.turns.push(latency),
      onUsage: (usage) => void this.usage.push(usage.component),
      onInterruption: (kind) => void this.interruptions.push(kind),
      onAgentAudio: (event) => void this.audio.push(event),
      onClear: () => this.leg.clear(),
    };
  }
}
