import { globSync } from 'node:fs';
import path from 'node:path';

/** A top folder of test/ and its files; `jobs` test files run side by side. */
export interface TestArea { name: string; files: string[]; jobs: number }

const FIRST = ['tool-chain', 'media', 'sip', 'src'];
/** Real calls and benchmarks measure time: they run alone, and last. */
const ALONE = ['bench', 'scenarios'];

const rank = (area: string): number => {
  if (ALONE.includes(area)) return 1000;
  const first = FIRST.indexOf(area);
  return first >= 0 ? first : 100;
};

/**
 * Test files by area. Each filter is an area (`sip`), a path (`test/sip/message`) or part of one (`rtcp`); no filter means all.
 */
export function findAreas(root: string, filters: string[]): TestArea[] {
  const files = globSync('test/*/**/*.test.ts', { cwd: root, exclude: ['test/fixtures/**'] }).map((file) => file.split(path.sep).join('/')).sort();
  const areaOf = (file: string): string => file.split('/')[1] ?? '';
  const names = new Set(files.map(areaOf));
  const wanted = (file: string): boolean =>
    filters.length === 0 || filters.some((filter) => (names.has(filter) ? areaOf(file) === filter : file.includes(filter)));
  return [...names]
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
    .map((name) => ({ name, files: files.filter((file) => areaOf(file) === name && wanted(file)), jobs: ALONE.includes(name) ? 1 : 2 }))
    .filter((area) => area.files.length > 0);
}
