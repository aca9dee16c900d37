import t from 'tap';
import { sentences, speakable } from '../../../src/conversation/sentences.ts';

async function split(deltas: string[], maxChars?: number): Promise<string[]> {
  async function* stream(): AsyncGenerator<string> {
    yield* deltas;
  }
  const out: string[] = [];
  for await (const piece of sentences(stream(), maxChars === undefined ? {} : { maxChars })) out.push(piece);
  return out;
}

t.test('cuts at sentences, the first one at a clause', async (t) => {
  for (const [text, pieces] of [
    ['We are open today. Come by! Is that fine? Yes', ['We are open today.', 'Come by!', 'Is that fine?', 'Yes']],
    ['We are open on Monday, and also on Tuesday, if you like. Good, good.', ['We are open on Monday,', 'and also on Tuesday, if you like.', 'Good, good.']],
    ['Yes, of course.', ['Yes, of course.']],
    ['Come at 3 p.m. tomorrow. Or at 4 p.m. We close at 5.30 exactly.', ['Come at 3 p.m. tomorrow.', 'Or at 4 p.m.', 'We close at 5.30 exactly.']],
    ['Dr. Smith and Mrs. J. Miller pay $3.50. Fine.', ['Dr. Smith and Mrs. J. Miller pay $3.50.', 'Fine.']],
    ['Write to a.b@example.com. Thanks.', ['Write to a.b@example.com.', 'Thanks.']],
    ['He said "stop." Then he left.', ['He said "stop."', 'Then he left.']],
    ['Wait... what? Really?! Yes', ['Wait...', 'what?', 'Really?!', 'Yes']],
    ['', []], ['   \n ', []], ['...', ['...']],
  ] as [string, string[]][]) {
    t.same(await split([text]), pieces, text);
    t.same(await split(text.split('')), pieces, `letter by letter: ${text}`);
  }
});

t.test('leaves out what cannot be said', async (t) => {
  t.same(await split(['## Menu\n- **Pizza** for $5\n- _Pasta_ 🍝\n1. `Soup`\nSee [our page](https://x.example/a_b). 👍🏽']), ['Menu', 'Pizza for $5', 'Pasta', 'Soup', 'See our page.']);
  t.equal(speakable('snake_case stays, *stars* go 🇩🇪 1️⃣'), 'snake_case stays, stars go 1');
  t.equal(speakable('😀👨‍👩‍👧'), '');
});

t.test('a sentence is ready before the next one begins', async (t) => {
  const read: string[] = [];
  async function* stream(): AsyncGenerator<string> {
    for (const delta of ['We are open. ', 'Come ', 'by.']) {
      read.push(delta);
      yield delta;
    }
  }
  const first = await sentences(stream()).next();
  t.same(first.value, 'We are open.');
  t.same(read, ['We are open. ']);
});

t.test('no piece is longer than allowed, and nothing is lost', async (t) => {
  const words = Array.from({ length: 200 }, (_, n) => `word${n}`).join(' ');
  for (const text of [words, 'x'.repeat(1000), words.replaceAll(' word5', ', word5')]) {
    for (const deltas of [[text], text.split('')]) {
      const pieces = await split(deltas, 100);
      t.ok(pieces.every((piece) => piece.length <= 100), `${pieces.length} pieces`);
      t.equal(pieces.join('').replaceAll(' ', ''), text.replaceAll(' ', ''));
    }
  }
});
