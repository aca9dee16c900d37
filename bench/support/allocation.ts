import { PerformanceObserver } from 'node:perf_hooks';
import { setInterval as every } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';

const SAMPLE_EVERY_MS = 20;

export interface Allocation { heapBytes: number; bufferBytes: number; largestCollectionMs: number }

/**
 * What the calling thread allocates in so many seconds: growth of its heap and of its array buffers, summed over samples
 * so close that a collection hides at most one of them.
 */
export async function measureAllocation(seconds: number): Promise<Allocation> {
  const found: Allocation = { heapBytes: 0, bufferBytes: 0, largestCollectionMs: 0 };
  const collections = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) found.largestCollectionMs = Math.max(found.largestCollectionMs, duration);
  });
  collections.observe({ entryTypes: ['gc'] });
  const until = performance.now() + seconds * 1000;
  let heap = getHeapStatistics().used_heap_size;
  let buffers = getHeapStatistics().external_memory;
  for await (const _ of every(SAMPLE_EVERY_MS)) {
    const now = getHeapStatistics();
    found.heapBytes += Math.max(0, now.used_heap_size - heap);
    found.bufferBytes += Math.max(0, now.external_memory - buffers);
    heap = now.used_heap_size;
    buffers = now.external_memory;
    if (performance.now() >= until) break;
  }
  collections.disconnect();
  return found;
}
