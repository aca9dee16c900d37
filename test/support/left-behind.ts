import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** A live process that belongs to a test run: it carries the run's mark in its environment, or sits in its process group. */
export interface LeftBehind { pid: number; command: string }

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

/** Fields after the command's closing bracket (proc(5)): state, parent, group. */
function stateAndGroup(pid: string): { state: string; group: number } {
  const [state = '', , group = '0'] = read(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ') ?? [];
  return { state, group: Number(group) };
}

/** Processes of the run that still live; empty where there is no /proc. */
export function runningOf(mark: string, group: number): LeftBehind[] {
  let pids: string[];
  try {
    pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  } catch {
    return [];
  }
  return pids.flatMap((pid) => {
    const found = stateAndGroup(pid);
    const ours = found.group === group || (mark !== '' && read(`/proc/${pid}/environ`).split('\0').includes(mark));
    return ours && found.state !== 'Z' ? [{ pid: Number(pid), command: read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim().slice(0, 200) }] : [];
  });
}

/** Waits for the run's processes to go; then kills, by pid, those that have not, and says which. */
export async function sweep(mark: string, group: number, graceMs: number): Promise<LeftBehind[]> {
  const end = performance.now() + graceMs;
  let left = runningOf(mark, group);
  while (left.length > 0 && performance.now() < end) {
    await delay(100);
    left = runningOf(mark, group);
  }
  for (const { pid } of left) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // Gone between the look and the kill.
    }
  }
  return left;
}
