import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import t from 'tap';

const ROOT = path.resolve(import.meta.dirname, '../..');
const LATER = ['SIP as carriers expect it', 'Conversation', 'Engines', 'Abilities', 'Outbound and money', 'Console', 'Many machines'];
const LEAST_ROWS = 300;

interface Row { part: string; section: string; statement: string; proofs: string[] }

const page = readFileSync(path.join(ROOT, 'docs/spec-coverage.md'), 'utf8');
const rows = read(page);

/** The tables' rows; a bar inside a cell is written `\|`. */
function read(markdown: string): Row[] {
  let [part, section] = ['', ''];
  return markdown.split('\n').flatMap((line) => {
    part = /^## (.+)$/.exec(line)?.[1] ?? part;
    section = /^### (.+)$/.exec(line)?.[1] ?? section;
    if (!line.startsWith('| ') || line === '| statement | proof |') return [];
    const [, statement = '', proof = '', ...rest] = line.split(/(?<!\\)\|/).map((cell) => cell.replaceAll('\\|', '|').trim());
    return [{ part, section, statement: rest.length === 1 ? statement : '', proofs: proof.split('<br>').map((one) => one.trim()) }];
  });
}

const sources = new Map<string, string>();
/** A test file as it reads; undefined: there is none. Quotes inside titles stand for themselves. */
function sourceOf(file: string): string | undefined {
  const known = sources.get(file);
  if (known !== undefined) return known;
  if (!/^test\/[\w/-]+\.test\.ts$/.test(file) || !existsSync(path.join(ROOT, file))) return undefined;
  const source = readFileSync(path.join(ROOT, file), 'utf8').replaceAll("\\'", "'");
  sources.set(file, source);
  return source;
}

/** What is wrong with a proof; undefined: nothing. */
function faultOf(proof: string): string | undefined {
  const [, later] = /^later: (.+)$/.exec(proof) ?? [];
  if (later !== undefined) return LATER.includes(later) ? undefined : 'no such later work';
  const [, file = '', title] = /^`([^`]+)`(?:: (.+))?$/.exec(proof) ?? [];
  const source = sourceOf(file);
  if (source === undefined) return 'no such file';
  if (title === undefined || ["'", '`', '"'].some((quote) => source.includes(`t.test(${quote}${title}${quote}`))) return undefined;
  return 'no such test in it';
}

t.test('every statement has a proof that exists, or the title of the work that owns it', (t) => {
  t.ok(rows.length >= LEAST_ROWS, `${rows.length} rows`);
  t.same([...new Set(rows.map(({ part }) => part))], ['Contract', 'Completion']);
  t.same(rows.flatMap(({ section, statement, proofs }) => proofs.flatMap((proof) => {
    const fault = statement === '' ? 'no statement, or a bar too many' : faultOf(proof);
    return fault === undefined ? [] : [`${section}: ${statement}: ${proof}: ${fault}`];
  })), []);
  for (const title of LATER) t.match(page, `- \`later: ${title}\`: `, 'the introduction says what it is');
  t.end();
});

t.test('no statement stands twice in its section', (t) => {
  const seen = new Set<string>();
  t.same(rows.map(({ part, section, statement }) => `${part} / ${section}: ${statement}`).filter((place) => seen.size === seen.add(place).size), []);
  t.end();
});

t.test('a proof that is none is found', (t) => {
  const file = 'test/tool-chain/spec-coverage.test.ts';
  t.equal(faultOf(`\`${file}\`: no statement stands twice in its section`), undefined);
  t.equal(faultOf(`\`${file}\``), undefined);
  t.equal(faultOf(`\`${file}\`: no statement stands twice`), 'no such test in it', 'the whole title');
  for (const proof of ['', file, '`test/none.test.ts`', '`src/main.ts`', '`test/../src/main.test.ts`']) t.equal(faultOf(proof), 'no such file', proof);
  t.equal(faultOf('later: Someday'), 'no such later work');
  t.match(read('## A\n### B\n| statement | proof |\n|---|---|\n| a \\| b |  |\n'), [{ part: 'A', section: 'B', statement: 'a | b', proofs: [''] }]);
  t.end();
});
