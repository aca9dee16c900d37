import t from 'tap';
import { EngineError, type Speech, type Usage } from '../../../../src/engines/engine.ts';
import { speakable, splitClauses } from '../../../../src/engines/local/clauses.ts';
import { FLITE_VOICES, FliteTts } from '../../../../src/engines/local/flite-tts.ts';
import { MoonshineStt } from '../../../../src/engines/local/moonshine-stt.ts';
import { SpeechPool } from '../../../../src/engines/local/speech-pool.ts';
import { overTelephone, wordErrorRate } from '../../../support/speech-fixtures.ts';
import { SttCaller } from '../../../support/stt-caller.ts';

// Models on a busy machine: seconds when alone, more beside other test files.
t.setTimeout(120_000);

const pool = await SpeechPool.start({ sttThreads: 1, ttsThreads: 1 });
const ports = pool.connect();
const tts = new FliteTts(ports.tts);
const stt = new MoonshineStt(ports.stt);
t.teardown(async () => {
  tts.close();
  stt.close();
  await pool.close();
});

async function* from(...sentences: string[]): AsyncGenerator<string> {
  yield* sentences;
}

interface Said { pieces: Speech[]; usage: Usage[] }

async function say(text: AsyncIterable<string>, options: { voice?: string; speed?: number; signal?: AbortSignal } = {}): Promise<Said> {
  const said: Said = { pieces: [], usage: [] };
  const signal = options.signal ?? new AbortController().signal;
  const speech = tts.speak(text, { voice: options.voice ?? 'rms', speed: options.speed ?? 1, language: 'en-US', signal, onUsage: (usage) => said.usage.push(usage) });
  for await (const piece of speech) said.pieces.push(piece);
  return said;
}

function joined(pieces: Speech[]): Int16Array {
  const silence = new Int16Array(1600);
  return Int16Array.from([silence, ...pieces.map((piece) => piece.audio), silence].flatMap((audio) => [...audio]));
}

const durationMs = (pieces: Speech[]): number => pieces.reduce((sum, piece) => sum + piece.audio.length / 16, 0);

const SENTENCES = [
  'Sure, I can help you with that.',
  'We are open from nine to five on weekdays and from ten to two on Saturdays.',
  'Could you please repeat your telephone number?',
  'Thank you for calling, have a nice day.',
];

t.test('what it says can be understood over a telephone', async (t) => {
  const pairs = [];
  for (const sentence of SENTENCES) {
    const { pieces } = await say(from(sentence));
    const caller = new SttCaller(stt);
    const { text } = await caller.utter(overTelephone(joined(pieces)));
    caller.hangUp();
    pairs.push({ reference: sentence, heard: text });
  }
  const rate = wordErrorRate(pairs);
  t.comment(`WER ${rate.toFixed(3)} of its own speech through G.711`);
  t.ok(rate < 0.15, JSON.stringify(pairs));
});

t.test('pieces come in order, their text is all of it, and word times fit', async (t) => {
  const { pieces, usage } = await say(from(SENTENCES[1] ?? '', SENTENCES[0] ?? ''));
  t.ok(pieces.length >= 3, 'the first sentence comes in clauses');
  t.equal(pieces.map((piece) => piece.text).join(' '), `${SENTENCES[1]} ${SENTENCES[0]}`);
  t.ok((pieces[0]?.audio.length ?? 0) < 3.5 * 16_000, 'the first one is short');
  for (const { audio, text, words } of pieces) {
    t.equal(words.map((word) => word.text).join(' '), text);
    let last = 0;
    for (const word of words) {
      t.ok(word.startMs >= last && word.endMs > word.startMs && word.endMs <= audio.length / 16 + 1, `${word.text} ${word.startMs}-${word.endMs}`);
      last = word.startMs;
    }
    t.ok(audio.subarray(-480).some((sample) => Math.abs(sample) > 100), 'no silence is left at the end');
  }
  const characters = pieces.reduce((sum, piece) => sum + piece.text.length, 0);
  t.same(usage, [{ component: 'tts', model: 'local/flite', measure: 'character', quantity: characters, source: 'measured' }]);
});

t.test('every voice speaks, quicker when told to', async (t) => {
  for (const voice of FLITE_VOICES) {
    const normal = durationMs((await say(from('One moment please.'), { voice })).pieces);
    const quick = durationMs((await say(from('One moment please.'), { voice, speed: 1.6 })).pieces);
    t.ok(normal > 500 && normal < 3000, `${voice}: ${normal} ms`);
    t.ok(quick < normal * 0.85, `${voice}: ${quick} ms`);
  }
  await t.rejects(say(from('Hi'), { voice: '../../etc/passwd' }), EngineError);
});

t.test('odd text is spoken or left out, never an error', async (t) => {
  for (const text of ['', '   ', '...', '\u0000\u0007', '\u{1f600}', '-voice slt', '-o /tmp/x', '<speak><break time="10s"/></speak>', '\u4f60\u597d', `a${'b'.repeat(5000)}`, '"', 'caf\u00e9 na\u00efve']) {
    const { pieces } = await say(from(text));
    t.ok(durationMs(pieces) < 30_000, JSON.stringify(text.slice(0, 20)));
  }
  t.same((await say(from('\u{1f600}', '...', ''))).pieces, []);
});

t.test('it makes no more than one clause ahead of its listener', async (t) => {
  let pulled = 0;
  const endless = (async function* (): AsyncGenerator<string> {
    for (;;) {
      pulled++;
      yield 'This is one more sentence.';
    }
  })();
  const speech = tts.speak(endless, { voice: 'rms', speed: 1, language: 'en', signal: new AbortController().signal, onUsage: () => {} })[Symbol.asyncIterator]();
  await speech.next();
  await speech.next();
  await new Promise((resolve) => setTimeout(resolve, 150));
  t.ok(pulled <= 3, `${pulled} pulled for two heard`);
  await speech.return?.(undefined);
});

t.test('an abort ends it, even when its text stalls', async (t) => {
  const turn = new AbortController();
  const stalled = (async function* (): AsyncGenerator<string> {
    yield 'Let me see.';
    await new Promise(() => {});
  })();
  const pieces: Speech[] = [];
  for await (const piece of tts.speak(stalled, { voice: 'rms', speed: 1, language: 'en', signal: turn.signal, onUsage: () => {} })) {
    pieces.push(piece);
    setTimeout(() => turn.abort(), 10);
  }
  t.equal(pieces.length, 1);
  t.same((await say(from('Too late.'), { signal: AbortSignal.abort() })).pieces, []);
});

t.test('clauses', (t) => {
  t.same(splitClauses('Sure, I can help.', true), ['Sure, I can help.'], 'a short word stays with what follows');
  t.same(splitClauses('Your visit is on Monday, at three, in Oslo.', true), ['Your visit is on Monday,', 'at three, in Oslo.']);
  t.same(splitClauses('One thing. Another thing.', false), ['One thing.', 'Another thing.']);
  t.same(splitClauses('We cost 3.50 dollars.', true), ['We cost 3.50 dollars.']);
  for (const text of [...SENTENCES, 'word '.repeat(500), 'x'.repeat(3000)]) {
    for (const first of [true, false]) {
      const clauses = splitClauses(text, first);
      t.equal(clauses.join('').replace(/\s/g, ''), text.replace(/\s/g, ''), 'nothing is lost');
      t.ok(clauses.every((clause) => clause.length <= 140));
    }
  }
  t.equal(speakable('**Hi**\u0000\u202e there\u2014\u201cyou\u201d\n# caf\u00e9'), 'Hi there, "you" cafe');
  t.end();
});
