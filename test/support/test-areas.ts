import { globSync } from 'node:fs';
import path from 'node:path';

/** A folder of test/ (of test/src/ and test/scenarios/, the next one) and its files; `jobs` test files run side by side. */
export interface TestArea { name: string; files: string[]; jobs: number }

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
    .map((name) => ({ name, files: files.filter((file) => areaOf(file) === name && wanted(file)), jobs: runsAlone(name) ? 1 : 2 }))
    .filter((area) => area.files.length > 0);
}
