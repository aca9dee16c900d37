import { globSync } from 'node:fs';
import path from 'node:path';

/** A folder of test/ (of test/src/ and test/scenarios/, the next one) and its files; `jobs` test files run side by side. */
export interface TestArea {
  name: string;
  /** The name, and which part of a large area this is: `src/resources 2/3`. */
  label: string;
  files: string[];
  jobs: number;
}

/** More files than these would take an area past its three minutes. */
const MOST_FILES = 15;

const FIRST = ['tool-chain', 'media', 'sip', 'src'];
/** Real calls and benchmarks measure time: they run alone, and last. */
const ALONE = ['bench', 'scenarios'];

/** Whose folders are areas of their own. */
const DIVIDED = ['src', 'scenarios'];

const runsAlone = (area: string): boolean => ALONE.includes(area.split('/')[0] ?? '');

const rank = (area: string): number => {
  if (runsAlone(area)) return 1000;
  const first = FIRST.indexOf(area.split('/')[0] ?? '');
  return first >= 0 ? first : 100;
};

const areaOf = (file: string): string => {
  const [, top = '', next = ''] = file.split('/');
  return DIVIDED.includes(top) && !next.endsWith('.test.ts') ? `${top}/${next}` : top;
};

/**
 * Test files by area. Each filter is an area (`sip`), a path (`test/sip/message`) or part of one (`rtcp`); no filter means all.
 */
export function findAreas(root: string, filters: string[]): TestArea[] {
  const files = globSync('test/*/**/*.test.ts', { cwd: root, exclude: ['test/fixtures/**'] }).map((file) => file.split(path.sep).join('/')).sort();
  const names = new Set(files.map(areaOf));
  const folders = new Set([...names].map((name) => name.split('/')[0] ?? '').concat(...names));
  const wanted = (file: string): boolean =>
    filters.length === 0 || filters.some((filter) => file.startsWith(`test/${filter}/`) || (!folders.has(filter) && file.includes(filter)));
  return [...names]
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
    .flatMap((name) => inParts(name, files.filter((file) => areaOf(file) === name && wanted(file))));
}

function inParts(name: string, files: string[]): TestArea[] {
  const parts = Math.ceil(files.length / MOST_FILES);
  const size = Math.ceil(files.length / parts);
  return Array.from({ length: parts }, (_, part) => ({
    name, label: parts === 1 ? name : `${name} ${part + 1}/${parts}`, files: files.slice(part * size, (part + 1) * size), jobs: runsAlone(name) ? 1 : 2,
  }));
}
