import { setTimeout as delay } from 'node:timers/promises';

const EVERY_MS = 25;

/**
 * Asks until the answer is there (anything but undefined or false) and gives it back. Throws, with what was last seen, when it
 * is not there in time: no test waits longer than it must, and none takes a pause for a proof.
 */
export async function until<T>(what: string, withinMs: number, ask: () => Promise<T | undefined | false> | T | undefined | false, seen: () => unknown = () => undefined): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (performance.now() >= deadline) {
      const last = seen();
      throw new Error(`not within ${withinMs} ms: ${what}${last === undefined ? '' : `; last seen: ${typeof last === 'string' ? last : JSON.stringify(last)}`}`);
    }
    await delay(EVERY_MS);
  }
}
