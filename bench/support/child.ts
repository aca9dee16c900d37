import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type Answered, type Asked, READY_ID } from './serve.ts';

interface Pending<Reply> { resolve: (reply: Reply) => void; reject: (error: Error) => void }

/**
 * A helper process of a benchmark that answers requests over Node's own channel. It ends with `close()`, and by itself when
 * the benchmark is gone (the channel breaks).
 */
export class BenchChild<Request extends { type: string }, Reply extends { type: string }> {
  readonly #process: ChildProcess;
  readonly #pending = new Map<number, Pending<Reply>>();
  readonly #name: string;
  #lastId = READY_ID;
  #exited = false;

  private constructor(child: ChildProcess, name: string) {
    this.#process = child;
    this.#name = name;
    child.on('message', (answered: Answered<Reply>) => this.#onAnswered(answered));
    child.once('exit', (code, signal) => {
      this.#exited = true;
      for (const { reject } of this.#pending.values()) reject(new Error(`${name} ended with ${signal ?? `code ${code}`} in the middle of a request`));
    });
  }

  /** Starts `entry` with Node behind `prefix` (such as chrt) and waits until it serves. */
  static async start<Request extends { type: string }, Reply extends { type: string }>(
    entry: URL, options: { prefix?: string[]; args?: string[] } = {},
  ): Promise<BenchChild<Request, Reply>> {
    const path = fileURLToPath(entry);
    const [command = process.execPath, ...args] = [...(options.prefix ?? []), process.execPath, '--single-threaded-gc', path, ...(options.args ?? [])];
    const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], serialization: 'advanced' });
    const bench = new BenchChild<Request, Reply>(child, path);
    await bench.#reply(READY_ID);
    return bench;
  }

  get pid(): number {
    if (this.#process.pid === undefined) throw new Error(`${this.#name} did not start`);
    return this.#process.pid;
  }

  /** Sends one request and gives its reply. Throws when the process fails or ends. */
  async ask<Type extends Reply['type']>(request: Request, expected: Type): Promise<Extract<Reply, { type: Type }>> {
    const id = ++this.#lastId;
    const replied = this.#reply(id);
    this.#process.send({ id, request } satisfies Asked<Request>);
    const reply = await replied;
    if (reply.type !== expected) throw new Error(`asked ${request.type}, expected ${expected}, got ${reply.type}`);
    return reply as Extract<Reply, { type: Type }>;
  }

  /** Breaks the channel, upon which the process leaves; by force after five seconds. */
  async close(): Promise<void> {
    if (this.#exited) return;
    const exit = once(this.#process, 'exit');
    const force = setTimeout(() => this.#process.kill('SIGKILL'), 5000);
    if (this.#process.connected) this.#process.disconnect();
    await exit;
    clearTimeout(force);
  }

  #onAnswered(answered: Answered<Reply>): void {
    const pending = this.#pending.get(answered.id);
    this.#pending.delete(answered.id);
    if ('failure' in answered) pending?.reject(new Error(`${this.#name}: ${answered.failure}`));
    else pending?.resolve(answered.reply);
  }

  #reply(id: number): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
    });
  }
}
