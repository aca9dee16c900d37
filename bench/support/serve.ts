/** The child's side of child.ts: answers each request, and leaves when the benchmark is gone. */

export interface Asked<Request> { id: number; request: Request }
export type Answered<Reply> = { id: number; reply: Reply } | { id: number; failure: string };

/** Reply number that says the process is ready for requests. */
export const READY_ID = 0;

/** Serves requests from the parent until the channel breaks; `onGone` then gets the chance to clean up. */
export function serve<Request, Reply>(answer: (request: Request) => Promise<Reply>, onGone: () => Promise<void> = () => Promise.resolve()): void {
  const send = (answered: Answered<Reply>): void => void process.send?.(answered);
  process.on('message', ({ id, request }: Asked<Request>) => {
    answer(request).then((reply) => send({ id, reply }), (error: unknown) => send({ id, failure: error instanceof Error ? (error.stack ?? error.message) : String(error) }));
  });
  // A generator or gateway whose benchmark is gone must not go on.
  process.on('disconnect', () => void onGone().finally(() => process.exit(0)));
  process.send?.({ id: READY_ID, reply: undefined });
}
