import t from 'tap';
import { MoonshineStt } from '../../../../src/engines/local/moonshine-stt.ts';
import { SpeechPool } from '../../../../src/engines/local/speech-pool.ts';
import { asteriskPrompt, asteriskPrompts, overTelephone, readSpeech, readSpeechFile, type SpeechFixture, wordErrorRate, wordErrors } from '../../../support/speech-fixtures.ts';
import { SttCaller } from '../../../support/stt-caller.ts';

// Models on a busy machine: seconds when alone, more beside other test files.
t.setTimeout(120_000);

const pool = await SpeechPool.start({ sttThreads: 2, ttsThreads: 1 });
const stt = new MoonshineStt(pool.connect().stt);
t.teardown(async () => {
  stt.close();
  await pool.close();
});

async function errorRate(fixtures: SpeechFixture[], telephone: boolean): Promise<number> {
  const pairs = await Promise.all(fixtures.map(async ({ path, transcript }) => {
    const pcm = readSpeechFile(path, 16_000);
    const caller = new SttCaller(stt);
    const { text } = await caller.utter(telephone ? overTelephone(pcm) : pcm);
    caller.hangUp();
    return { reference: transcript, heard: text };
  }));
  return wordErrorRate(pairs);
}

/** Every 24th prompt that is no lecture. */
const prompts = asteriskPrompts().filter((fixture) => fixture.transcript.length < 160).filter((_, index) => index % 24 === 0);

t.test('words of people reading, at 16 kHz and over the telephone', async (t) => {
  const wide = await errorRate(readSpeech(), false);
  const narrow = await errorRate(readSpeech(), true);
  t.comment(`WER ${wide.toFixed(3)} at 16 kHz, ${narrow.toFixed(3)} through G.711`);
  t.ok(wide < 0.08, `16 kHz: ${wide}`);
  t.ok(narrow < 0.12, `G.711: ${narrow}`);
});

t.test('words of telephone prompts', async (t) => {
  const rate = await errorRate(prompts, true);
  t.comment(`WER ${rate.toFixed(3)} through G.711 on ${prompts.length} prompts`);
  t.ok(rate < 0.15, `G.711: ${rate}`);
});

const login = asteriskPrompt('agent-pass');
const loginPcm = readSpeechFile(login.path, 16_000);

t.test('partials, then eager at the pause, then the same words as final, with usage', async (t) => {
  const caller = new SttCaller(stt);
  const eager = caller.next('eager');
  const partial = caller.next('partial');
  // In two halves, so that a partial comes in between.
  caller.write(loginPcm.subarray(0, 1600));
  caller.stream.mark('speech_started');
  caller.write(loginPcm.subarray(1600, 32_000));
  t.equal(caller.events.length, 0, 'nothing is reported from inside write');
  t.match((await partial).text, /\w/);
  caller.write(loginPcm.subarray(32_000));
  caller.silence(10);
  caller.stream.mark('pause');
  const { text } = await eager;
  t.equal(wordErrors(login.transcript, text).errors, 0);
  const final = caller.next('final');
  const usage = caller.next('usage');
  caller.silence(12);
  caller.stream.mark('speech_ended');
  t.match(await final, { text, startMs: 4 });
  t.match((await usage).usage, { component: 'stt', model: 'local/moonshine-tiny-en', measure: 'ms', source: 'measured' });
  const ms = (await final).endMs;
  t.ok(Math.abs(ms - (loginPcm.length / 16 + 200)) < 60, `ends at the pause: ${ms}`);
  caller.hangUp();
});

t.test('who goes on after a pause is one utterance', async (t) => {
  const caller = new SttCaller(stt);
  const first = readSpeechFile(asteriskPrompt('auth-thankyou').path, 16_000);
  const eager = caller.next('eager');
  caller.speak(first);
  t.match((await eager).text, /thank you/i);
  const final = caller.next('final');
  caller.stream.mark('speech_started');
  caller.write(loginPcm);
  caller.silence(10);
  caller.stream.mark('pause');
  caller.stream.mark('speech_ended');
  t.match((await final).text, /^thank you.*pound key/i);
  caller.hangUp();
});

t.test('a long speech is cut at a quiet place and joined in order', async (t) => {
  const long = asteriskPrompt('demo-congrats');
  const caller = new SttCaller(stt);
  const { text } = await caller.utter(readSpeechFile(long.path, 16_000));
  const { errors, words } = wordErrors(long.transcript, text);
  t.comment(`${errors} of ${words} words wrong in a speech of half a minute`);
  t.ok(errors / words < 0.15, text);
  caller.hangUp();
});

t.test('utterances that follow each other at once come in order', async (t) => {
  const caller = new SttCaller(stt);
  const finals = [login, asteriskPrompt('auth-thankyou')].map((fixture) => caller.utter(readSpeechFile(fixture.path, 16_000)));
  const texts = (await Promise.all(finals)).map((final) => final.text);
  t.match(texts, [/pound key/i, /thank you/i]);
  caller.hangUp();
});

t.test('noise is not words', async (t) => {
  let seed = 7;
  const noise = Int16Array.from({ length: 6400 }, () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return 600 * ((2 * seed) / 2_147_483_648 - 1);
  });
  const caller = new SttCaller(stt);
  t.equal((await caller.utter(noise)).text, '');
  t.equal((await caller.utter(new Int16Array(1600))).text, '');
  t.notOk(caller.events.some((event) => event.kind === 'eager'));
  caller.hangUp();
});

t.test('after the call is over nothing is reported', async (t) => {
  const caller = new SttCaller(stt);
  void caller.utter(loginPcm);
  caller.hangUp();
  const other = new SttCaller(stt);
  await other.utter(loginPcm);
  other.hangUp();
  t.same(caller.events, []);
  caller.write(loginPcm);
  caller.stream.mark('speech_started');
  caller.stream.mark('speech_ended');
});

t.test('marks without an utterance do nothing', async (t) => {
  const caller = new SttCaller(stt);
  caller.stream.mark('pause');
  caller.stream.mark('speech_ended');
  t.match((await caller.utter(loginPcm)).text, /pound/i);
  t.equal(caller.events.filter((event) => event.kind === 'final').length, 1);
  caller.hangUp();
});
