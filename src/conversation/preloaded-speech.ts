import type { Speech } from '../engines/engine.ts';

/** Starts a stream of speech before anyone plays it. `ready` resolves, never rejects, when its first piece is there or it ended. */
export function preload(speech: AsyncIterable<Speech>): { ready: Promise<void>; speech: AsyncIterable<Speech> } {
  const iterator = speech[Symbol.asyncIterator]();
  const first = iterator.next();
  const ready = first.then(() => {}, () => {});
  return { ready, speech: replay(first, iterator) };
}

async function* replay(first: Promise<IteratorResult<Speech>>, iterator: AsyncIterator<Speech>): AsyncGenerator<Speech, void, undefined> {
  try {
    for (let next = await first; !next.done; next = await iterator.next()) yield next.value;
  } finally {
    await iterator.return?.();
  }
}
