import t from 'tap';
import { SILENCE } from '../../../media/audio-frame.ts';
import type { LlmEvent, SttEvent, Usage } from '../../../src/engines/engine.ts';
import { ManualWaitClock, ScriptedLlm, ScriptedStt, scriptedSpeech, ScriptedTts } from '../../support/scripted-engines.ts';

const never = new AbortController().signal;

t.test('the ear reports on time, and in the order of the marks', async (t) => {
  const clock = new ManualWaitClock();
  const events: [number, string, string][] = [];
  const onEvent = (event: SttEvent): void => {
    if ('text' in event) events.push([clock.nowMs, event.kind, event.text]);
  };
  const stream = new ScriptedStt({ utterances: ['hello', 'bye'], partialMs: 50, eagerMs: 80, finalMs: 100 }, clock).open({ signal: never, onEvent });
  stream.mark('speech_started');
  await clock.advance(200);
  stream.mark('pause');
  await clock.advance(40);
  stream.mark('speech_started');
  await clock.advance(100);
  stream.mark('pause');
  await clock.advance(100);
  stream.write(SILENCE);
  stream.mark('speech_ended');
  stream.mark('speech_started');
  await clock.advance(100);
  t.same(events, [[50, 'partial', 'hello'], [420, 'eager', 'hello'], [490, 'partial', 'bye'], [540, 'final', 'hello']]);
});

t.test('the language model reads its lines and stops when told', async (t) => {
  const clock = new ManualWaitClock();
  const llm = new ScriptedLlm({ replies: [{ text: ['One. ', 'Two.'] }, (messages) => ({ text: [`You said ${messages.at(-1)?.content}.`], error: new Error('cut') })], firstMs: 300, pieceMs: 50 }, clock);
  const turn = new AbortController();
  const ask = (content: string): AsyncGenerator<LlmEvent> => llm.reply({ messages: [{ role: 'user', content }], tools: [], signal: turn.signal });
  const heard: [number, string][] = [];
  const first = (async (): Promise<void> => {
    for await (const event of ask('a')) if (event.kind === 'text') heard.push([clock.nowMs, event.text]);
  })();
  await clock.advance(1000);
  await first;
  t.same(heard, [[300, 'One. '], [350, 'Two.']]);
  const failing = ask('b');
  const piece = failing.next();
  await clock.advance(300);
  t.match((await piece).value, { kind: 'text', text: 'You said b.' });
  await t.rejects(failing.next(), /cut/);
  const aborted = ask('c').next();
  turn.abort();
  t.equal((await aborted).done, true);
});

t.test('the voice has exact words, a sound of its own, and counts what it made', async (t) => {
  const clock = new ManualWaitClock();
  const usage: Usage[] = [];
  const text = (async function* (): AsyncGenerator<string> {
    yield 'two words';
    yield 'never pulled';
  })();
  const speech = new ScriptedTts({ firstMs: 40, wordMs: 200 }, clock).speak(text, { signal: never, onUsage: (used) => usage.push(used) });
  const piece = speech.next();
  await clock.advance(40);
  t.same((await piece).value, scriptedSpeech('two words', 200, 'tone'));
  await speech.return(undefined);
  t.match(usage, [{ measure: 'character', quantity: 9 }]);
  const noise = scriptedSpeech('two words', 200, 'noise');
  t.same(noise.words, [{ text: 'two', startMs: 0, endMs: 160 }, { text: 'words', startMs: 200, endMs: 360 }]);
  t.equal(noise.audio.length, 6400);
  t.ok(noise.audio.subarray(0, 2560).some((sample) => Math.abs(sample) > 4000));
  t.notOk(noise.audio.subarray(2560, 3200).some((sample) => sample !== 0));
});
