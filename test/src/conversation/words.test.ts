import t from 'tap';
import { endEvidence, endWaitMs } from '../../../src/conversation/end-evidence.ts';
import { KeypadEntry } from '../../../src/conversation/keypad-entry.ts';
import { promptMessages } from '../../../src/conversation/prompt.ts';
import { SilenceWatch } from '../../../src/conversation/silence-watch.ts';
import { wordWeigher } from '../../../src/conversation/spoken-words.ts';
import { Transcript } from '../../../src/conversation/transcript.ts';
import { TurnStopwatch } from '../../../src/conversation/turn-stopwatch.ts';
import { unansweredWords } from '../../../src/conversation/unanswered-words.ts';
import { VoiceBurst } from '../../../src/conversation/voice-burst.ts';
import type { TranscriptItem } from '../../../src/calls/worker-protocol.ts';

t.test('what words say about the end of a turn', (t) => {
  for (const [text, evidence] of [
    ['I want a table.', 'complete'], ['How are you?', 'complete'], ['"Yes."', 'complete'], ['It is 2:30.', 'complete'],
    ['I want to book a', 'unfinished'], ['My number is.', 'unfinished'], ['I would like...', 'unfinished'], ['Well,', 'unfinished'], ['Is it for the?', 'complete'],
    ['i want a table', 'undecided'], ['', 'undecided'], ['!!!', 'undecided'],
  ] as const) t.equal(endEvidence(text, 'en-US', false), evidence, text);
  t.equal(endEvidence('I want a table', 'en-US', true), 'unfinished', 'no full stop from a recogniser that writes them');
  t.equal(endEvidence('Ich möchte einen.', 'de-DE', true), 'unfinished');
  t.equal(endEvidence('Ich möchte einen.', 'en-US', true), 'complete', 'each language has its own words');
  t.equal(endEvidence('はい。', 'ja-JP', true), 'complete');
  t.same(['complete', 'undecided', 'unfinished'].map((evidence) => endWaitMs(evidence as 'complete', 500)), [450, 500, 1000]);
  t.equal(endWaitMs('complete', 100), 200, 'never under 200 ms');
  t.end();
});

t.test('acknowledgements, commands and real words', (t) => {
  const weigh = wordWeigher('en-GB');
  for (const [text, realWords, command] of [
    ['Uh-huh.', 0, false], ['Yeah, okay, I see.', 0, false], ['Mm-hmm, that’s right.', 0, false], ['Okay but I want more', 4, false],
    ['No.', 1, true], ['Hold on a second', 4, true], ['Wait', 1, true], ['I can wait', 3, false], ['', 0, false], ['...', 0, false],
  ] as const) t.same(weigh(text), { realWords, command }, text);
  t.equal(wordWeigher('de-DE')('Ja, genau, alles klar.').realWords, 0);
  t.equal(wordWeigher('xx')('mhm').realWords, 0);
  t.end();
});

t.test('what a transcript adds to words already answered', (t) => {
  for (const [text, answered, rest] of [
    ['I want a table.', 'I want a table', ''], ['I want a table for two.', 'I want a table.', 'for two.'],
    ['I\'d want a table for two', 'I want a table', 'for two'], ['No thanks.', 'I want a table', 'No thanks.'],
    ['Yes', 'yes', ''], ['No', 'yes', 'No'], ['', 'yes', ''], ['Yes', '', 'Yes'], ['I want', 'I want a table', ''],
  ] as const) t.equal(unansweredWords(text, answered), rest, `${answered} → ${text}`);
  t.end();
});

t.test('runs of voice with short gaps are one burst', (t) => {
  const burst = new VoiceBurst();
  const voice = (speechStartMs: number, lastVoicedMs: number): void => burst.next({ speaking: true, silentMs: 0, speechStartMs, lastVoicedMs });
  voice(1000, 1100);
  voice(1000, 1200);
  voice(1300, 1400);
  t.same([burst.startMs, burst.voicedMs], [1000, 300]);
  voice(2000, 2050);
  t.same([burst.startMs, burst.voicedMs], [2000, 50]);
  t.end();
});

t.test('keypad entries', (t) => {
  const keypad = new KeypadEntry();
  for (const key of ['1', '2', 'ü', '22', '']) keypad.press(key, 100);
  t.equal(keypad.take(2000), undefined);
  t.equal(keypad.take(2100), '12');
  t.equal(keypad.take(9000), undefined, 'once');
  keypad.press('7', 9000);
  keypad.press('#', 9001);
  t.equal(keypad.take(9002), '7#');
  for (let key = 0; key < 100; key++) keypad.press('1', 9100);
  t.equal(keypad.take(9100)?.length, 32);
  t.end();
});

t.test('silence', (t) => {
  const watch = new SilenceWatch({ reminderAfterMs: 100, reminderText: 'Hello?', maxReminders: 1, hangUpAfterMs: 300 });
  const run = (ms: number): (string | undefined)[] => Array.from({ length: ms / 20 }, () => watch.next(20)).filter(Boolean);
  t.same(run(280), ['remind']);
  t.same(run(20), ['hang_up']);
  watch.broken();
  t.same(run(280), ['remind']);
  const off = new SilenceWatch({ reminderAfterMs: 0, reminderText: 'x', maxReminders: 5, hangUpAfterMs: 0 });
  t.same(Array.from({ length: 1000 }, () => off.next(20)).filter(Boolean), []);
  t.end();
});

t.test('a stopwatch whose stages were skipped still adds up', (t) => {
  let now = 100;
  const watch = new TurnStopwatch(() => now, 100);
  now = 600;
  t.same(watch.stop(), { voiceToVoiceMs: 500, endpointingMs: 500, sttMs: 0, llmMs: 0, ttsMs: 0 });
  t.end();
});

t.test('the transcript keeps positions and refuses to correct what is not there', (t) => {
  const sent: TranscriptItem[] = [];
  const transcript = new Transcript((item) => sent.push(item));
  const position = transcript.add({ role: 'agent', text: 'one two', startedMs: 0, endedMs: 10 });
  transcript.correct(position, { role: 'agent', text: 'one two', heardText: 'one', interrupted: true, startedMs: 0, endedMs: 5 });
  t.same(sent.map((item) => item.position), [0, 0]);
  t.equal(transcript.items.length, 1);
  t.throws(() => transcript.correct(7, { role: 'agent', text: '', startedMs: 0, endedMs: 0 }), RangeError);
  t.end();
});

t.test('the prompt', (t) => {
  const item = (role: 'agent' | 'caller', text: string, more: Partial<TranscriptItem> = {}): TranscriptItem => ({ position: 0, role, text, startedMs: 0, endedMs: 0, ...more });
  const items = [
    item('agent', 'Hello.'), item('caller', 'A table.'), item('caller', 'For two.'), item('agent', 'Not heard at all.', { interrupted: true, heardText: '' }),
    item('agent', 'We have one at seven.', { interrupted: true, heardText: 'We have' }), item('caller', 'No.'),
  ];
  const [system, ...history] = promptMessages({ systemPrompt: 'You are Ann.', language: 'en-US', items });
  t.match(system?.content, /^You are Ann\.\n[\s\S]*spoken aloud[\s\S]*speech recognition[\s\S]*en-US/);
  t.same(history, [{ role: 'assistant', content: 'Hello.' }, { role: 'user', content: 'A table. For two.' }, { role: 'assistant', content: 'We have —' }, { role: 'user', content: 'No.' }]);
  const long = promptMessages({ systemPrompt: 's', language: 'en-US', items: Array.from({ length: 2000 }, (_, n) => item(n % 2 ? 'agent' : 'caller', `${n} ${'x'.repeat(100)}`)), note: 'Go on.' });
  t.ok(JSON.stringify(long).length < 60_000, 'bounded');
  t.match(long.at(-2)?.content, /^1999 /, 'the newest stay');
  t.same(long.at(-1), { role: 'system', content: 'Go on.' });
  t.end();
});
