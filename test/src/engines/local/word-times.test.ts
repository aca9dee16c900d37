import t from 'tap';
import { AgreedPrefix } from '../../../../src/engines/local/agreed-prefix.ts';
import { Clip, PreRoll } from '../../../../src/engines/local/utterance.ts';
import { countSyllables, wordTimes } from '../../../../src/engines/local/word-times.ts';

t.test('syllables from the spelling', (t) => {
  for (const [word, count] of [['okay', 2], ['make', 1], ['table', 2], ['helped', 1], ['wanted', 2], ['number?', 2], ['a', 1], ['hmm', 1]] as const) t.equal(countSyllables(word), count, word);
  t.ok(countSyllables('2:30') > 2);
  t.end();
});

t.test('words lie over the vowels', (t) => {
  const phones = [['pau', 100], ['hh', 180], ['ax', 250], ['l', 330], ['ow', 500], ['pau', 700], ['y', 760], ['uw', 900], ['pau', 1000]] as const;
  const words = wordTimes('Hello, you', phones.map(([name, endMs]) => ({ name, endMs })), -100, 800);
  t.match(words, [{ text: 'Hello,', startMs: 0 }, { text: 'you', startMs: 600, endMs: 800 }]);
  t.same(wordTimes('Hmm hmm', [], 0, 500).map((word) => word.text), ['Hmm', 'hmm'], 'no phones, no trouble');
  t.end();
});

t.test('what two decodes agree on is forced, but for its unsure end', (t) => {
  const prefix = new AgreedPrefix();
  prefix.update([5, 6, 7, 8, 9]);
  t.same(prefix.forced, []);
  prefix.update([5, 6, 7, 8, 4, 3]);
  t.same(prefix.forced, [5, 6]);
  t.end();
});

t.test('a clip is cut where it is quiet', (t) => {
  const clip = new Clip();
  for (let frame = 0; frame < 600; frame++) clip.append(new Int16Array(320).fill(frame >= 500 && frame < 512 ? 3 : 2000));
  t.ok(clip.mustCut);
  const head = clip.cut();
  t.ok(head.length > 500 * 320 && head.length < 512 * 320, `${head.length / 320}`);
  t.equal(head.length + clip.length, 600 * 320);
  t.equal(clip.copy().at(-1), 2000);
  t.end();
});

t.test('the pre-roll keeps the last moments and lets go of them once', (t) => {
  const preRoll = new PreRoll(60);
  for (let frame = 1; frame <= 5; frame++) preRoll.write(new Int16Array(320).fill(frame));
  const clip = new Clip();
  preRoll.drainInto(clip);
  t.same([clip.copy()[0], clip.copy()[320], clip.copy()[640], clip.length], [3, 4, 5, 960]);
  preRoll.drainInto(clip);
  t.equal(clip.length, 960);
  t.end();
});
