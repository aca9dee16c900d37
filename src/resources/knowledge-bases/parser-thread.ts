import { Worker } from 'node:worker_threads';
import { DocumentFault } from './document-fault.ts';
import type { FromParser, IndexedPassage, ParserInput } from './parser-protocol.ts';

export interface ParserLimits { timeMs: number; memoryBytes: number }

export interface Parsed { passages: IndexedPassage[]; searchConfig: string }

export const PARSER_LIMITS: ParserLimits = { timeMs: 120_000, memoryBytes: 512 * 1024 * 1024 };
const MEMORY_LOOK_MS = 50;
/** The engine's own limit is the last resort: it may come too late to end only the thread. */
const HEAP_SLACK = 2;
const MIB = 1024 * 1024;

interface ParserCallbacks {
  signal: AbortSignal;
  onProgress: (share: number) => void;
  onDetail: (detail: string) => void;
}

/**
 * Reads a document in a thread of its own that is ended when it takes too long or too much memory.
 * Takes `input.data` over. Throws DocumentFault, or the signal's reason.
 */
export async function parseInThread(input: ParserInput, limits: ParserLimits, { signal, onProgress, onDetail }: ParserCallbacks): Promise<Parsed> {
  signal.throwIfAborted();
  const worker = new Worker(new URL('./parse-worker.ts', import.meta.url), {
    workerData: input,
    transferList: [input.data.buffer],
    resourceLimits: { maxOldGenerationSizeMb: Math.ceil((limits.memoryBytes * HEAP_SLACK) / MIB) },
    stdout: true,
    stderr: true,
  });
  const watch = new AbortController();
  try {
    return await new Promise<Parsed>((resolve, reject) => {
      const passages: IndexedPassage[] = [];
      worker.on('message', (message: FromParser) => {
        if (message.type === 'progress') onProgress(message.share);
        else if (message.type === 'passages') passages.push(...message.passages);
        else if (message.type === 'done') resolve({ passages, searchConfig: message.searchConfig });
        else {
          if (message.detail !== undefined) onDetail(message.detail);
          reject(new DocumentFault(message.words));
        }
      });
      worker.on('error', (error: Error & { code?: string }) => reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooMuchMemory(limits) : error));
      worker.on('exit', () => reject(new Error('The thread that read the document ended early.')));
      signal.addEventListener('abort', () => reject(signal.reason as Error), { signal: watch.signal });
      const timer = setTimeout(() => reject(new DocumentFault(`The document took longer than ${limits.timeMs / 1000} s to read. Split it, or save it in a simpler form.`)), limits.timeMs);
      watch.signal.addEventListener('abort', () => clearTimeout(timer));
      watchMemory(worker, limits, watch.signal, () => reject(tooMuchMemory(limits)));
    });
  } finally {
    watch.abort();
    await worker.terminate();
  }
}

/** What is unpacked outside the heap counts too, which no limit of the engine's does. */
function watchMemory(worker: Worker, limits: ParserLimits, signal: AbortSignal, exceeded: () => void): void {
  let looking = false;
  const timer = setInterval(() => {
    if (looking) return;
    looking = true;
    void worker.getHeapStatistics()
      .then((heap) => { if (heap.used_heap_size + heap.external_memory > limits.memoryBytes) exceeded(); })
      // It has not begun yet, or has ended.
      .catch(() => undefined)
      .finally(() => { looking = false; });
  }, MEMORY_LOOK_MS);
  signal.addEventListener('abort', () => clearInterval(timer));
}

function tooMuchMemory(limits: ParserLimits): DocumentFault {
  return new DocumentFault(`The document needs more than ${Math.round(limits.memoryBytes / MIB)} MiB of memory to read. Split it, or save it in a simpler form.`);
}
