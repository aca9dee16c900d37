import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/**
 * A helper process of a benchmark that answers requests in order, over Node's own channel. It ends with `close()`, and by
 * itself when the benchmark is gone (the channel breaks).
 */
export class BenchChild<Request extends { type: string }, Reply extends { type: string }> {
  readonly #process: ChildProcess;
  #pending: { resolve: (reply: Reply) => void; reject: (error: Error) => void } | undefined;
  #exited = false;

  private constructor(child: ChildProcess, name: string) {
    this.#process = child;
    child.on('message', (reply: Reply | { type: 'failed'; message: string }) => {
      const pending = this.#pending;
      this.#pending = undefined;
      if (reply.type === 'failed') pending?.reject(new Error(`${name}: ${(reply as { message: string }).message}`));
      else pending?.resolve(reply as Reply);
    });
    child.once('exit', (code, signal) => {
      this.#exited = true;
      this.#pending?.reject(new Error(`${name} ended with ${signal ?? `code ${code}`} in the middle of a request`));
    });
  }

  /** Starts `entry` with Node behind `prefix` (such as chrt) and waits for its `ready`. */
  static async start<Request extends { type: string }, Reply extends { type: string }>(
    entry: URL, options: { prefix?: string[]; args?: string[] } = {},
  ): Promise<BenchChild<Request, Reply>> {
    const path = fileURLToPath(entry);
    const [command, ...args] = [...(options.prefix ?? []), process.execPath, '--single-threaded-gc', path, ...(options.args ?? [])];
    const child = spawn(command ?? process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], serialization: 'advanced' });
    const bench = new BenchChild<Request, Reply>(child, path);
    await bench.#reply();
    return bench;
  }

  get pid(): number {
    if (this.#process.pid === undefined) throw new Error('the process did not start');
    return this.#process.pid;
  }

  /** Sends one request and gives its reply. Throws when the process fails or ends; one request at a time. */
  async ask<Type extends Reply['type']>(request: Request, expected: Type): Promise<Extract<Reply, { type: Type }>> {
    if (this.#pending) throw new Error(`${request.type} was asked before the request before it was answered`);
    this.#process.send(request);
    const reply = await this.#reply();
    if (reply.type !== expected) throw new Error(`asked ${request.type}, expected ${expected}, got ${reply.type}`);
    return reply as Extract<Reply, { type: Type }>;
  }

  /** Asks the process to leave; by force after two seconds. */
  async close(): Promise<void> {
    if (this.#exited) return;
    const exit = once(this.#process, 'exit');
    const force = setTimeout(() => this.#process.kill('SIGKILL'), 2000);
    if (this.#process.connected) this.#process.disconnect();
    await exit;
    clearTimeout(force);
  }

  #reply(): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject };
    });
  }
}
