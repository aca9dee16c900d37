import { globSync } from 'node:fs';
import path from 'node:path';
import type { Example } from './example.ts';

/** Every example of this folder: each file but this one and example.ts exports `examples`. */
export async function allExamples(): Promise<Example[]> {
  const files = globSync('*.ts', { cwd: import.meta.dirname }).filter((file) => !['all.ts', 'example.ts'].includes(file)).sort();
  const modules = await Promise.all(files.map((file) => import(path.join(import.meta.dirname, file)) as Promise<{ examples: Example[] }>));
  return modules.flatMap(({ examples }) => examples);
}
