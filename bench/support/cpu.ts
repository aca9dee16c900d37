/** What the kernel says of CPU and memory, in nanoseconds where it can (Linux only). */
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

/** CPU time of one thread in ms: kernel and user, without what neighbours took. */
export function threadCpuMs(pid: number, tid: number): number {
  const [running] = readFileSync(`/proc/${pid}/task/${tid}/schedstat`, 'utf8').split(' ');
  return Number(running) / 1e6;
}

/** CPU time of a process in ms, over the threads it has now. */
export function processCpuMs(pid: number): number {
  let total = 0;
  for (const tid of readdirSync(`/proc/${pid}/task`)) {
    try {
      total += threadCpuMs(pid, Number(tid));
    } catch {
      // The thread ended between the listing and the reading.
    }
  }
  return total;
}

/** Resident memory of a process, bytes. */
export function residentBytes(pid: number): number {
  const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  if (resident === undefined) throw new Error(`/proc/${pid}/status has no VmRSS: is the process still alive?`);
  return Number(resident) * 1024;
}

/** Kernel thread id of the thread that calls. */
export function currentTid(readLink: (path: string) => string): number {
  return Number(readLink('/proc/thread-self').split('/').at(-1));
}

/** Command prefix that starts a process at SCHED_FIFO, or none where that is not granted. */
export function realtimePrefix(priority: number): string[] {
  const granted = spawnSync('chrt', ['-f', String(priority), 'true'], { stdio: 'ignore' }).status === 0;
  return granted ? ['chrt', '-f', String(priority)] : [];
}

const SPIN = `
const { parentPort, workerData } = require('node:worker_threads');
const began = performance.now(), cpu = process.threadCpuUsage();
while (performance.now() - began < workerData) {}
const used = process.threadCpuUsage(cpu);
parentPort.postMessage({ wallMs: performance.now() - began, cpuMs: (used.user + used.system) / 1000 });
`;

/** Per cent of all cores that others take: one spinning thread a core, CPU time got against wall time passed. */
export async function lostToOthersPct(spinMs = 400): Promise<number> {
  const spins = await Promise.all(Array.from({ length: availableParallelism() }, () => spin(spinMs)));
  const wall = spins.reduce((sum, { wallMs }) => sum + wallMs, 0);
  const cpu = spins.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
  return Math.max(0, (1 - cpu / wall) * 100);
}

function spin(spinMs: number): Promise<{ wallMs: number; cpuMs: number }> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(SPIN, { eval: true, workerData: spinMs });
    thread.once('message', resolve);
    thread.once('error', reject);
  });
}
