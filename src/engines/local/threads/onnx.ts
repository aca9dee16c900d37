import { InferenceSession } from 'onnxruntime-node';

/**
 * Opens a model for one thread of CPU. More than one intra-op thread burns 2-4 times the CPU in spinning; we scale by
 * model threads instead. `run()` of this runtime blocks the thread that calls it: only ever call it in a model thread.
 */
export function openModel(file: string): Promise<InferenceSession> {
  return InferenceSession.create(file, {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    logSeverityLevel: 3,
  });
}
