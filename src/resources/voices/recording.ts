import { Worker } from 'node:worker_threads';
import { ApiError } from '../../api/errors.ts';
import type { Finding, RecordingFormat } from './recording-format.ts';
import { RECORDING_RULES, type VoiceProvider } from './voice-provider.ts';

/** A recording of somebody's voice, in memory only. */
export interface Recording { format: RecordingFormat; mediaType: string; data: Buffer; durationMs: number }

export const MAX_RECORDINGS = 5;
/** 10 MB. */
export const MAX_RECORDING_BYTES = 10 * 1024 * 1024;

/** The longest honest file takes a hundredth of it. */
const INSPECTION_LIMIT_MS = 5000;
const INSPECTIONS_AT_ONCE = 2;
const THREAD_LIMITS = { maxOldGenerationSizeMb: 128 };

const waiting: (() => void)[] = [];
let running = 0;

/** What each file is and how long it lasts, by its content alone. Throws ApiError `unsupported_recording_format`. */
export async function inspectRecordings(files: readonly Buffer[], field: string): Promise<Recording[]> {
  const findings = await inTurn(() => askThread(files));
  return files.map((data, position) => {
    const finding = findings[position] ?? { fault: 'cannot be read' };
    const param = `${field}[${position}]`;
    if ('fault' in finding) throw new ApiError('unsupported_recording_format', `${param} ${finding.fault}.`, { param });
    return { ...finding, data };
  });
}

/** Throws ApiError `recording_too_short`. */
export function requireEnough(provider: VoiceProvider, recordings: readonly Recording[], param: string): void {
  const totalMs = recordings.reduce((sum, { durationMs }) => sum + durationMs, 0);
  const { minTotalMs } = RECORDING_RULES[provider];
  if (totalMs < minTotalMs) {
    throw new ApiError('recording_too_short', `${provider} needs ${minTotalMs / 1000} s of speech, and this is ${(Math.floor(totalMs / 100) / 10).toFixed(1)} s.`, { param });
  }
}

/** Findings in order, up to the first file that breaks the thread or keeps it too long. Never rejects. */
function askThread(files: readonly Buffer[]): Promise<Finding[]> {
  const thread = new Worker(new URL('./recording-thread.ts', import.meta.url), { workerData: { files }, resourceLimits: THREAD_LIMITS });
  const findings: Finding[] = [];
  return new Promise((resolve) => {
    let limit = setTimeout(() => void thread.terminate(), INSPECTION_LIMIT_MS);
    thread.on('message', (finding: Finding) => {
      findings.push(finding);
      clearTimeout(limit);
      limit = setTimeout(() => void thread.terminate(), INSPECTION_LIMIT_MS);
    });
    // Its exit follows.
    thread.on('error', () => undefined);
    thread.on('exit', () => {
      clearTimeout(limit);
      resolve(findings);
    });
  });
}

/** So many threads at once, and no more: they share the cores with live calls. */
async function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  if (running >= INSPECTIONS_AT_ONCE) await new Promise<void>((resolve) => { waiting.push(resolve); });
  else running++;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}
