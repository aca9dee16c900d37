import { readdirSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** What a leak would make grow. */
export interface ProcessSize {
  /** Files and sockets open in all threads of this process. */
  descriptors: number;
  /** Live objects of this thread, after a full collection. */
  heapBytes: number;
  timers: number;
}

export function processSize(): ProcessSize {
  collect();
  collect();
  return {
    descriptors: readdirSync('/proc/self/fd').length,
    heapBytes: process.memoryUsage().heapUsed,
    timers: process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length,
  };
}
