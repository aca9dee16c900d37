import { parentPort, workerData } from 'node:worker_threads';
import type { FromThread, ModelRole, ThreadOptions, ToThread } from './thread-messages.ts';

/**
 * Entry of one model thread: loads the model of its role, then serves the ports the pool hands it.
 * It is never terminated from outside: ending a thread while the ONNX runtime works in it aborts the whole process, so it
 * finishes what runs and leaves by itself.
 */

async function load({ role, cacheDir }: ThreadOptions): Promise<ModelRole> {
  switch (role) {
    case 'vad':
      return (await import('./vad-thread.ts')).VadThread.load();
    case 'stt':
      return (await import('./stt-thread.ts')).SttThread.load(cacheDir);
    case 'tts':
      return (await import('./tts-thread.ts')).TtsThread.load();
  }
}

if (!parentPort) throw new Error('model-thread.ts is a worker thread of SpeechPool; it cannot run by itself.');
const pool = parentPort;
const startedAt = performance.now();
const loaded = await load(workerData as ThreadOptions);

pool.on('message', (message: ToThread) => {
  switch (message.type) {
    case 'connect':
      loaded.connect(message.port);
      return;
    case 'close':
      void loaded.drain().then(() => process.exit(0));
  }
});
pool.postMessage({ type: 'ready', loadMs: Math.round(performance.now() - startedAt) } satisfies FromThread);
