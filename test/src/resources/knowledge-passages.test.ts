import fc from 'fast-check';
import t from 'tap';
import { formatOf, formatOfAnswer } from '../../../src/resources/knowledge-bases/document-format.ts';
import { divideMarkdown } from '../../../src/resources/knowledge-bases/extracted.ts';
import { toPassages } from '../../../src/resources/knowledge-bases/passages.ts';
import { searchConfigOf, toSearchText } from '../../../src/resources/knowledge-bases/search-text.ts';
import { makeDocx, makePdf, makeZip } from '../../support/document-files.ts';

const passagesOf = (text: string) => toPassages(divideMarkdown(text));
const sentence = (n: number): string => `Sentence number ${n} says something of ten words in all.`;

t.test('headings make sections, with their path', (t) => {
  const text = 'Before.\n# Prices\n## Repairs\nForty euros.\n## New\nNinety.\n# Hours #\nNine to five.\n```\n# no heading\n```\n# Last\n';
  t.strictSame(passagesOf(text).map(({ heading, text: found }) => [heading, found]), [
    ['', 'Before.'], ['Prices > Repairs', 'Forty euros.'], ['Prices > New', 'Ninety.'], ['Hours', 'Nine to five.\n```\n# no heading\n```'], ['Last', '# Last'],
  ]);
  t.strictSame(passagesOf('## Deep\nUnder two.\n#### Deeper\nText.').map(({ heading }) => heading), ['Deep', 'Deep > Deeper']);
  t.strictSame(passagesOf('#hash is no heading\nText').map(({ heading }) => heading), ['']);
  t.strictSame(passagesOf(' \n\n\t\n'), []);
  t.end();
});

t.test('long sections become passages of about 120 words that overlap a little', (t) => {
  const text = Array.from({ length: 60 }, (_, n) => sentence(n)).join(' ');
  const passages = passagesOf(text);
  t.ok(passages.length >= 5 && passages.length <= 8, String(passages.length));
  for (const [index, { text: passage, start, end }] of passages.entries()) {
    t.equal(text.slice(start, end), passage);
    t.ok(passage.split(/\s+/).length <= 145);
    t.match(passage, /^Sentence.*\.$/s, 'begins and ends with a sentence');
    const next = passages[index + 1];
    if (next) t.ok(next.start < end && end - next.start < 200, 'the next repeats its end');
  }
  t.end();
});

t.test('a paragraph is not torn where a passage is well filled', (t) => {
  const paragraph = (from: number, count: number): string => Array.from({ length: count }, (_, n) => sentence(from + n)).join(' ');
  const passages = passagesOf(`${paragraph(0, 8)}\n\n${paragraph(8, 6)}`);
  t.equal(passages.length, 2);
  t.match(passages[0]?.text, /number 7 says something of ten words in all\.$/);
  t.end();
});

t.test('whatever the text: passages are stretches of it, in order, none long, nothing left out', (t) => {
  const piece = fc.oneof(fc.string({ unit: 'grapheme' }), fc.lorem({ maxCount: 80 }), fc.constantFrom('\n', '\n\n', '\r\n', '# ', '## Heading\n', '. ', '```\n', '\t', '東京は日本の首都です。', 'x'.repeat(3000), '\u{1F600}'.repeat(700)));
  fc.assert(fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
    const text = pieces.join('').toWellFormed();
    const { sections } = divideMarkdown(text);
    let covered = 0;
    for (const { text: passage, start, end } of passagesOf(text)) {
      if (text.slice(start, end) !== passage || passage.trim() !== passage || passage === '' || passage.length > 4000 || !passage.isWellFormed()) return false;
      if (start > covered && text.slice(covered, start).trim() !== '' && sections.some((section) => section.start <= covered && start < section.end)) return false;
      covered = Math.max(covered, end);
    }
    return true;
  }), { numRuns: 300 });
  t.end();
});

t.test('text for the search', (t) => {
  t.equal(toSearchText('Café Müller, Straße, naïve'), 'Cafe Muller, Strasse, naive');
  t.equal(toSearchText('Ёлка й'), 'Ёлка й', 'marks of other scripts make other letters');
  t.match(toSearchText('東京は日本の首都です'), /東京\s.*日本\s.*首都/);
  for (const [text, config] of [
    ['What are the opening hours of the shop and when is it closed?', 'english'], ['Wir sind von Montag bis Freitag für Sie da und auch am Wochenende nicht zu.', 'german'],
    ['Nous sommes ouverts du lundi au vendredi et les prix sont dans la liste.', 'french'], ['Estamos abiertos de lunes a viernes y los precios son para una persona.', 'spanish'],
    ['Мы открыты с понедельника', 'russian'], ['東京', 'simple'], ['42', 'simple'], ['Haircut 40 EUR', 'english'],
  ] as const) t.equal(searchConfigOf(toSearchText(text)), config, text);
  t.end();
});

t.test('what a file is', (t) => {
  const text = Buffer.from('Hello');
  t.equal(formatOf(makePdf(['x']), 'x.txt', 'text/plain'), 'pdf', 'content wins');
  t.equal(formatOf(makeDocx(['x']), 'x.bin', undefined), 'docx');
  t.equal(formatOf(makeZip({ 'a.txt': text }), 'x.docx', undefined), undefined, 'another archive');
  t.equal(formatOf(text, 'x.pdf', 'application/pdf'), undefined, 'no PDF at all');
  t.equal(formatOf(text, 'a.MD', undefined), 'md');
  t.equal(formatOf(text, 'a.csv', 'text/plain'), 'csv');
  t.equal(formatOf(text, 'a', 'text/html; charset=utf-8'), 'html');
  t.equal(formatOf(text, 'a.exe', 'application/octet-stream'), undefined);
  t.equal(formatOf(Buffer.from([0x4d, 0x5a, 0, 0]), 'a.txt', 'text/plain'), undefined, 'zeros are no text');
  t.equal(formatOf(Buffer.from('\ufeffHello', 'utf16le'), 'a.txt', 'text/plain'), 'txt');
  t.equal(formatOfAnswer(text, new URL('https://x.example/a.csv'), 'text/html'), 'html', 'the media type decides');
  t.equal(formatOfAnswer(text, new URL('https://x.example/a.md'), 'text/plain'), 'md');
  t.equal(formatOfAnswer(text, new URL('https://x.example/a.json'), 'application/json'), undefined);
  t.end();
});
