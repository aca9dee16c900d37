import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { cpus } from 'node:os';
import path from 'node:path';
import { env, InferenceSession } from 'onnxruntime-node';

const ONE_THREAD = { intraOpNumThreads: 1, interOpNumThreads: 1, executionMode: 'sequential', logSeverityLevel: 3 } as const;

/**
 * Opens a model for one thread of CPU. More than one intra-op thread burns 2-4 times the CPU in spinning; we scale by
 * model threads instead. `run()` of this runtime blocks the thread that calls it: only ever call it in a model thread.
 * With a `cacheDir` the optimised graph is kept there: the next start loads it in a third of the time.
 */
export async function openModel(file: string, cacheDir?: string): Promise<InferenceSession> {
  if (cacheDir === undefined) return InferenceSession.create(file, { ...ONE_THREAD, graphOptimizationLevel: 'all' });
  const kept = path.join(cacheDir, keptName(file));
  return (existsSync(kept) ? await openKept(kept) : undefined) ?? optimiseAndKeep(file, kept);
}

/** The graph as it was optimised on this machine; undefined, and gone, when it cannot be read. */
async function openKept(kept: string): Promise<InferenceSession | undefined> {
  try {
    return await InferenceSession.create(kept, { ...ONE_THREAD, graphOptimizationLevel: 'disabled' });
  } catch {
    rmSync(kept, { force: true });
    return undefined;
  }
}

async function optimiseAndKeep(file: string, kept: string): Promise<InferenceSession> {
  mkdirSync(path.dirname(kept), { recursive: true, mode: 0o700 });
  const unfinished = `${kept}.${randomUUID()}`;
  const session = await InferenceSession.create(file, { ...ONE_THREAD, graphOptimizationLevel: 'all', optimizedModelFilePath: unfinished });
  renameSync(unfinished, kept);
  return session;
}

/** One name for each model, runtime and processor: an optimised graph holds for these three only. */
function keptName(file: string): string {
  const { size, mtimeMs } = statSync(file);
  const origin = [file, size, mtimeMs, env.versions.node ?? '', cpus()[0]?.model ?? ''].join('|');
  return `${path.basename(file, '.onnx')}-${createHash('sha256').update(origin).digest('hex').slice(0, 16)}.onnx`;
}
