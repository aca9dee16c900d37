import { Worker } from 'node:worker_threads';
import { ApiError } from '../../api/errors.ts';
import type { Finding, FromThread, RecordingFormat } from './recording-format.ts';
import { RECORDING_RULES, type VoiceProvider } from './voice-provider.ts';

/** A recording of somebody's voice, in memory only. */
export interface Recording { format: RecordingFormat; mediaType: string; data: Buffer; durationMs: number }

export const MAX_RECORDINGS = 5;
/** 10 MB. */
export const MAX_RECORDING_BYTES = 10 * 1024 * 1024;

/** For one file; the longest honest one takes a hundredth of it. */
const INSPECTION_LIMIT_MS = 5000;
const START_LIMIT_MS = 30_000;
const INSPECTIONS_AT_ONCE = 2;
const THREAD_LIMITS = { maxOldGenerationSizeMb: 128 };

const waiting: (() => void)[] = [];
let running = 0;

/** What each file is and how long it lasts, by its content alone. Throws ApiError `unsupported_recording_format`, `service_unavailable`. */
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

/** Findings in order, up to the first file that breaks the thread or keeps it too long. Throws ApiError `service_unavailable` when no thread starts. */
function askThread(files: readonly Buffer[]): Promise<Finding[]> {
  const thread = new Worker(new URL('./recording-thread.ts', import.meta.url), { workerData: { files }, resourceLimits: THREAD_LIMITS, env: {}, execArgv: [] });
  const findings: Finding[] = [];
  let ready = false;
  return new Promise((resolve, reject) => {
    const endIn = (ms: number): NodeJS.Timeout => setTimeout(() => void thread.terminate(), ms);
    let limit = endIn(START_LIMIT_MS);
    thread.on('message', (message: FromThread) => {
      clearTimeout(limit);
      limit = endIn(INSPECTION_LIMIT_MS);
      if (message === 'ready') ready = true;
      else findings.push(message);
    });
    // Its exit follows.
    thread.on('error', () => undefined);
    thread.on('exit', () => {
      clearTimeout(limit);
      if (ready) resolve(findings);
      else reject(new ApiError('service_unavailable', 'Recordings cannot be looked at right now. Try again.'));
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
