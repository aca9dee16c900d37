import t from 'tap';
import type { TranscriptEvent } from '../../../src/conversation/caller-words.ts';
import { TurnController, type AgentActivity, type TurnDecision, type TurnSettings } from '../../../src/conversation/turn-controller.ts';

const SILENT: AgentActivity = { state: 'silent', held: false, protected: false };
const SPEAKING: AgentActivity = { state: 'speaking', held: false, protected: false };
const THINKING: AgentActivity = { state: 'thinking', held: false, protected: false };

/** Feeds a controller frame by frame; the agent does what the controller decides. */
class Table {
  readonly controller: TurnController;
  readonly decisions: (TurnDecision & { atMs: number })[] = [];
  agent: AgentActivity;
  heardMs = 0;
  #speechStartMs = 0;
  #lastVoicedMs = 0;
  #speaking = false;

  constructor(agent: AgentActivity, settings: Partial<TurnSettings> = {}) {
    this.agent = { ...agent };
    this.controller = new TurnController({ interruptSensitivity: 'normal', silenceWaitMs: 500, language: 'en-US', ...settings });
  }

  get kinds(): string[] {
    return this.decisions.map((decision) => decision.kind);
  }

  voice(ms: number): this {
    return this.#run(true, ms);
  }

  silence(ms: number): this {
    return this.#run(false, ms);
  }

  /** One frame, in which these transcripts arrive. */
  says(...transcripts: TranscriptEvent[]): this {
    this.#frame(this.#speaking, transcripts);
    return this;
  }

  #run(voiced: boolean, ms: number): this {
    for (let done = 0; done < ms; done += 20) this.#frame(voiced, []);
    return this;
  }

  #frame(voiced: boolean, transcripts: TranscriptEvent[]): void {
    this.heardMs += 20;
    if (voiced && !this.#speaking) this.#speechStartMs = this.heardMs - 20;
    if (voiced) this.#lastVoicedMs = this.heardMs;
    this.#speaking = voiced;
    const voice = { speaking: voiced, silentMs: this.heardMs - this.#lastVoicedMs, speechStartMs: this.#speechStartMs, lastVoicedMs: this.#lastVoicedMs };
    const decision = this.controller.next({ heardMs: this.heardMs, voice, transcripts, agent: this.agent });
    if (!decision) return;
    this.decisions.push({ ...decision, atMs: this.heardMs });
    this.#obey(decision);
  }

  #obey(decision: TurnDecision): void {
    if (decision.kind === 'hold') this.agent.held = true;
    if (decision.kind === 'resume') this.agent.held = false;
    if (decision.kind === 'interrupt') this.agent = { ...SILENT };
    if (decision.kind === 'userTurn') this.agent = { ...THINKING };
  }
}

const partial = (text: string): TranscriptEvent => ({ kind: 'partial', text });
const eager = (text: string): TranscriptEvent => ({ kind: 'eager', text, confidence: 0.9 });
const final = (text: string, startMs: number, endMs: number, confidence = 0.9): TranscriptEvent => ({ kind: 'final', text, confidence, startMs, endMs });

t.test('end of turn', async (t) => {
  t.test('complete words are answered a little before silence_wait_ms, unfinished ones after twice as long', (t) => {
    for (const [text, waitMs] of [['I want a table.', 460], ['I want a', 1000], ['i want a table', 500]] as const) {
      const table = new Table(SILENT).voice(1000).silence(200).says(eager(text)).silence(2000);
      t.same(table.kinds, ['userTurn'], text);
      t.equal((table.decisions[0]?.atMs ?? 0) - 1000, waitMs, text);
      t.match(table.decisions[0]?.reason, /waited \d+ ms: (complete|unfinished|undecided)/);
    }
    t.end();
  });
  t.test('without an early text the utterance is closed, and the final decides', (t) => {
    const table = new Table(SILENT).voice(1000).silence(700);
    t.same(table.kinds, ['closeUtterance']);
    table.says(final('A table.', 0, 1200));
    t.same(table.kinds, ['closeUtterance', 'userTurn']);
    t.same(table.decisions[1], { kind: 'userTurn', text: 'A table.', reason: 'waited 720 ms: complete', atMs: 1720 });
    t.end();
  });
  t.test('a caller who goes on is waited for, and all of it is one turn', (t) => {
    const table = new Table(SILENT).voice(1000).silence(300).says(final('I want a table', 0, 1200)).silence(100).voice(800).silence(200).says(eager('for two.')).silence(1000);
    t.same(table.decisions.map((d) => d.kind === 'userTurn' && d.text), ['I want a table for two.']);
    t.end();
  });
  t.test('voice after the utterance was closed keeps the turn open', (t) => {
    const table = new Table(SILENT).voice(600).silence(520).voice(600).says(final('I want', 0, 700)).voice(200);
    t.same(table.kinds, ['closeUtterance'], 'nothing is answered while the caller speaks');
    table.silence(600).says(final('a table.', 1120, 2000)).silence(20);
    t.same(table.decisions.at(-1)?.kind === 'userTurn' && table.decisions.at(-1), { kind: 'userTurn', text: 'I want a table.', reason: 'waited 620 ms: complete', atMs: table.decisions.at(-1)?.atMs });
    t.end();
  });
  t.test('a final that never comes: the newest partial is taken; without one the sound is forgotten', (t) => {
    const table = new Table(SILENT).voice(600).says(partial('I want a table')).silence(3000);
    t.same(table.kinds, ['closeUtterance', 'userTurn']);
    t.match(table.decisions[1]?.reason, /took the newest partial/);
    t.same(new Table(SILENT).voice(600).silence(5000).kinds, ['closeUtterance']);
    t.end();
  });
  t.test('a text that comes after it was given up on is answered all the same', (t) => {
    const table = new Table(SILENT).voice(600).silence(5000).says(final('Hello?', 0, 800));
    t.same(table.kinds, ['closeUtterance', 'userTurn']);
    t.end();
  });
  t.test('a late final with more words adds only those', (t) => {
    const table = new Table(SILENT).voice(600).says(partial('I want a')).silence(3200);
    t.equal(table.agent.state, 'thinking');
    table.says(final('I want a table.', 0, 800)).silence(1000);
    t.same(table.decisions.slice(1).map((d) => (d.kind === 'userTurn' ? d.text : d.kind)), ['I want a', 'interrupt', 'table.']);
    t.end();
  });
  t.test('a late final of the sound before takes nothing away and answers nothing twice', (t) => {
    const table = new Table(SILENT).voice(300).silence(700).voice(600).silence(200).says(eager('I want a table.')).says(final('', 0, 500, 0)).silence(400);
    t.same(table.decisions.map((d) => (d.kind === 'userTurn' ? d.text : d.kind)), ['closeUtterance', 'I want a table.']);
    table.says(final('', 0, 500, 0)).says(final('I want a table.', 1000, 1800)).silence(2000);
    t.equal(table.decisions.length, 2);
    t.end();
  });
  t.test('noise gives no turn', (t) => {
    t.same(new Table(SILENT).voice(300).silence(600).says(final('', 0, 400, 0)).silence(2000).kinds, ['closeUtterance']);
    t.same(new Table(SILENT).voice(300).silence(600).says(final('Now.', 0, 400, 0.2)).silence(2000).kinds, ['closeUtterance'], 'nor does a word nobody is sure of');
    t.end();
  });
});

t.test('over an agent that speaks', async (t) => {
  t.test('normal: hold at once, interrupt at two words', (t) => {
    const table = new Table(SPEAKING).voice(60).says(partial('I want something'));
    t.same(table.kinds, ['hold', 'interrupt']);
    t.equal(table.decisions[0]?.atMs, 20);
    t.end();
  });
  t.test('one word needs 400 ms of voice, or its end', (t) => {
    t.same(new Table(SPEAKING).voice(200).says(partial('Tuesday')).voice(100).kinds, ['hold']);
    t.same(new Table(SPEAKING).voice(200).says(partial('Tuesday')).voice(300).kinds, ['hold', 'interrupt']);
    t.same(new Table(SPEAKING).voice(200).silence(200).says(eager('Tuesday.')).kinds, ['hold', 'interrupt']);
    t.end();
  });
  t.test('"stop" needs nothing more', (t) => {
    t.same(new Table(SPEAKING).voice(100).says(partial('Stop')).kinds, ['hold', 'interrupt']);
    t.same(new Table(SPEAKING, { interruptSensitivity: 'low' }).voice(500).says(partial('Wait')).kinds, ['hold', 'interrupt']);
    t.end();
  });
  t.test('a long "mm-hmm" resumes as soon as its text is known', (t) => {
    const table = new Table(SPEAKING).voice(700).silence(200).says(eager('Mm-hmm.'));
    t.same(table.kinds, ['hold', 'resume']);
    t.end();
  });
  t.test('a cough resumes when its text is empty, or when none comes', (t) => {
    t.same(new Table(SPEAKING).voice(200).silence(340).says(final('', 0, 400)).kinds, ['hold', 'closeUtterance', 'resume']);
    const table = new Table(SPEAKING).voice(200).silence(2000);
    t.same(table.kinds, ['hold', 'closeUtterance', 'resume']);
    t.equal((table.decisions[2]?.atMs ?? 0) - 200, 1500);
    t.end();
  });
  t.test('voice without a word does not hold for ever', (t) => {
    const table = new Table(SPEAKING).voice(9000);
    t.same(table.kinds, ['hold', 'resume']);
    t.equal(table.decisions[1]?.atMs, 6000);
    table.silence(1000).voice(200);
    t.equal(table.kinds.at(-1), 'hold', 'the next sound counts again');
    t.end();
  });
  t.test('low holds later; high interrupts by voice alone, and a noise makes the agent go on', (t) => {
    const low = new Table(SPEAKING, { interruptSensitivity: 'low' }).voice(380);
    t.same(low.kinds, []);
    t.same(low.voice(40).kinds, ['hold']);
    const high = new Table(SPEAKING, { interruptSensitivity: 'high' }).voice(260);
    t.same(high.kinds, ['hold', 'interrupt']);
    high.silence(600).says(final('', 0, 400, 0));
    t.same(high.kinds.slice(2), ['closeUtterance', 'resume']);
    t.end();
  });
  t.test('off and protected: never held, words are kept for the end', (t) => {
    for (const table of [new Table(SPEAKING, { interruptSensitivity: 'off' }), new Table({ ...SPEAKING, protected: true })]) {
      table.voice(1000).silence(600).says(final('I want a table.', 0, 1200)).silence(500);
      t.same(table.kinds, ['closeUtterance']);
      table.agent = { ...SILENT };
      table.silence(20);
      t.same(table.kinds.slice(1), ['userTurn']);
    }
    t.end();
  });
});

t.test('while the agent thinks', (t) => {
  t.same(new Table(THINKING).voice(80).silence(100).kinds, [], 'a click does not delay it');
  t.same(new Table(THINKING).voice(200).says(partial('and')).kinds, ['hold', 'interrupt'], 'one word takes the turn back');
  t.same(new Table(THINKING, { interruptSensitivity: 'off' }).voice(200).says(partial('and')).kinds, ['hold', 'interrupt'], 'nobody has heard anything of it yet');
  t.same(new Table(THINKING).voice(200).silence(340).says(final('', 0, 400)).kinds, ['hold', 'closeUtterance', 'resume']);
  t.end();
});

t.test('random calls: no word is lost, none is answered twice', (t) => {
  for (let seed = 1; seed <= 300; seed++) {
    const { said, answered, table } = randomCall(seed);
    if (answered.join(' ') !== said.join(' ')) t.same(answered, said, `seed ${seed}: ${table.kinds.join(' ')}`);
  }
  t.pass('300 calls');
  t.end();
});

/** A call of random sounds and texts. Every word said is a word of its own, so that losing or repeating one shows. */
function randomCall(seed: number): { said: string[]; answered: string[]; table: Table } {
  let state = seed;
  const random = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
  const sensitivities = ['off', 'low', 'normal', 'high'] as const;
  const table = new Table(SILENT, { interruptSensitivity: sensitivities[random(4)]!, silenceWaitMs: 200 + random(5) * 200 });
  const said: string[] = [];
  for (let utterance = 0; utterance < 12; utterance++) {
    if (random(3) === 0) table.agent = { state: random(2) ? 'speaking' : 'thinking', held: false, protected: random(4) === 0 };
    const startMs = table.heardMs;
    const words = Array.from({ length: random(5) }, (_, n) => `w${seed}x${utterance}y${n}`);
    said.push(...words);
    table.voice(60 + random(40) * 20);
    if (random(2)) table.says(partial(words.slice(0, random(words.length + 1)).join(' ')));
    table.silence(200);
    const endMs = table.heardMs;
    if (random(2) && words.length > 0) table.says(eager(words.join(' ')));
    table.silence(random(60) * 20);
    table.says(final(words.join(' '), startMs, endMs, words.length > 0 ? 0.9 : 0));
    if (random(3) === 0) table.agent = { ...SILENT };
    table.silence(random(40) * 20);
  }
  table.agent = { ...SILENT };
  table.silence(6000);
  table.agent = { ...SILENT };
  table.silence(6000);
  const answered = table.decisions.flatMap((decision) => ('text' in decision ? decision.text.split(' ') : []));
  return { said, answered, table };
}
