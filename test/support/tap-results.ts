import type { Readable } from 'node:stream';
import { Parser, Result } from 'tap-parser';

export interface Failure { name: string; detail: string }

/** What one test file reported. Counts are assertions; a file that ends badly without a failed assertion has one failure of its own. */
export interface FileResult { file: string; passed: number; skipped: number; failures: Failure[]; timeMs: number }

const MAX_DETAIL_LINES = 60;

/** A failed assertion's diagnostics as text: place, message, difference, stack. */
function detailOf(diag: Record<string, unknown> | null): string {
  const lines: string[] = [];
  for (const [key, value] of Object.entries(diag ?? {})) {
    if (['source', 'cwd', 'command', 'args', 'stdio', 'jobId', 'externalID'].includes(key) || value === null) continue;
    const text = typeof value === 'string' ? value.trimEnd() : JSON.stringify(value);
    lines.push(...(text.includes('\n') ? [`${key}:`, ...text.split('\n').map((line) => `  ${line}`)] : [`${key}: ${text}`]));
  }
  return lines.slice(0, MAX_DETAIL_LINES).join('\n');
}

const rejected = (result: Result): boolean => !result.ok && !result.skip && !result.todo;

/** Counts the leaves below `parser` into `into`; a subtest that fails without a failed leaf (plan, timeout) is a failure itself. */
function countInto(parser: Parser, into: FileResult): void {
  let failuresBefore = 0;
  parser.on('child', (child: Parser) => {
    failuresBefore = into.failures.length;
    countInto(child, into);
  });
  parser.on('assert', (result: Result) => {
    if (result.closingTestPoint && !result.skip) {
      if (rejected(result) && into.failures.length === failuresBefore) into.failures.push({ name: result.fullname || result.name, detail: detailOf(result.diag) });
    } else if (result.skip || result.todo) into.skipped += 1;
    else if (result.ok) into.passed += 1;
    else into.failures.push({ name: result.fullname || result.name, detail: detailOf(result.diag) });
  });
}

/** Why a file counts as failed although none of its assertions did; undefined when all is well. */
function fileVerdict(result: Result, seen: FileResult): Failure | undefined {
  if (result.skip) return { name: result.name, detail: `no test ran: ${String(result.skip)}` };
  if (rejected(result) && seen.failures.length === 0) return { name: result.name, detail: `the file crashed, timed out or broke its plan\n${detailOf(result.diag)}` };
  if (seen.passed + seen.skipped + seen.failures.length === 0) return { name: result.name, detail: 'no test ran' };
  return undefined;
}

/**
 * Reads tap's raw TAP: one subtest a file. Calls `onFile` as each file ends; resolves when the stream ends. Files that never
 * reported are the caller's to notice.
 */
export function readTap(stream: Readable, onFile: (result: FileResult) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const parser = new Parser();
    const blank = (): FileResult => ({ file: '', passed: 0, skipped: 0, failures: [], timeMs: 0 });
    let seen = blank();
    parser.on('child', (child: Parser) => countInto(child, seen));
    parser.on('assert', (result: Result) => {
      const failure = fileVerdict(result, seen);
      if (failure) seen.failures.push(failure);
      onFile({ ...seen, file: result.name, timeMs: result.time ?? 0 });
      seen = blank();
    });
    stream.once('error', reject);
    parser.once('complete', () => resolve());
    stream.pipe(parser);
  });
}
