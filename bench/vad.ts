import { setTimeout as sleep } from 'node:timers/promises';
import { FRAME_SAMPLES, FRAME_MS } from '../media/audio-frame.ts';
import type { VadStream, VadWindow } from '../src/engines/engine.ts';
import { SileroVadEngine } from '../src/engines/local/silero-vad.ts';
import { SpeechPool } from '../src/engines/local/speech-pool.ts';
import { newSileroState, SileroModel, WINDOW_SAMPLES } from '../src/engines/local/threads/silero-model.ts';
import { overTelephone, readSpeech, readSpeechFile } from '../test/support/speech-fixtures.ts';
import { processCpuMs } from './support/cpu.ts';
import { judged, shown, type Figure, type Report } from './support/figures.ts';
import type { BenchOptions } from './support/options.ts';
import { largest, percentile } from './support/statistics.ts';

const CALLS = 32;
const CPU_MS_PER_CALL_SECOND = 2;
const WINDOW_MS = WINDOW_SAMPLES / 16;
/** The golden ratio spreads the calls' packets over the 20 ms. */
const SPREAD = 0.618033988749895;

interface Caller { stream: VadStream; sound: Int16Array; dueAt: number; at: number; windows: VadWindow[]; decidedAfterMs: number[] }

/** Silero over many calls in real time, through the pool and its model thread as a gateway uses them. */
export async function vad(options: BenchOptions): Promise<Report> {
  const seconds = options.quick ? 6 : 20;
  const figures: Figure[] = [];
  for (const calls of options.calls ?? [CALLS]) figures.push(...(await atCalls(calls, seconds)));
  return { bench: 'vad', figures };
}

async function atCalls(calls: number, seconds: number): Promise<Figure[]> {
  const sound = telephoneSpeech(seconds + 10);
  const pool = await SpeechPool.start({ sttThreads: 1, ttsThreads: 1 });
  try {
    const ports = pool.connect();
    const engine = new SileroVadEngine(ports.vad);
    const callers = Array.from({ length: calls }, (_, i): Caller => ({
      stream: engine.open(),
      // Every call hears another part of the recordings.
      sound: rotated(sound, Math.floor((i * SPREAD * sound.length) % sound.length)),
      dueAt: ((i * SPREAD) % 1) * FRAME_MS,
      at: 0,
      windows: [],
      decidedAfterMs: [],
    }));
    const used = await feed(callers, seconds);
    const difference = await differenceToUnbatched(callers);
    engine.close();
    for (const port of [...ports.stt, ...ports.tts]) port.close();
    const at = ` at ${calls} calls`;
    const wanted = Math.floor((seconds * 1000) / WINDOW_MS) * calls;
    const decided = callers.reduce((sum, caller) => sum + caller.windows.length, 0);
    const delays = callers.flatMap((caller) => caller.decidedAfterMs);
    return [
      judged(`CPU of the model thread${at}`, used.modelMs / seconds / calls, 'ms/s/call', CPU_MS_PER_CALL_SECOND),
      shown(`CPU of cutting, sending and receiving windows${at}`, used.ownMs / seconds / calls, 'ms/s/call'),
      judged(`probability difference, batched to unbatched${at}`, difference, '', 0),
      // The last window of each call may be under way when the feeding ends.
      judged(`windows without a decision${at}`, Math.max(0, wanted - decided - calls), 'windows', 0),
      shown(`window heard to decision p50${at}`, percentile(delays, 50), 'ms'),
      shown(`window heard to decision p99${at}`, percentile(delays, 99), 'ms'),
    ];
  } finally {
    await pool.close();
  }
}

/** Writes every call's frames on its own 20 ms grid; the CPU that this thread and all others used meanwhile. */
async function feed(callers: Caller[], seconds: number): Promise<{ ownMs: number; modelMs: number }> {
  const began = performance.now();
  const cpu = processCpuMs(process.pid);
  const thread = process.threadCpuUsage();
  while (performance.now() - began < seconds * 1000) {
    const now = performance.now() - began;
    for (const caller of callers) feedDue(caller, now);
    await sleep(1);
  }
  const own = process.threadCpuUsage(thread);
  const ownMs = (own.user + own.system) / 1000;
  return { ownMs, modelMs: processCpuMs(process.pid) - cpu - ownMs };
}

function feedDue(caller: Caller, now: number): void {
  for (const window of caller.stream.take()) {
    // A window's last sample was written with the frame that held it.
    const heardAt = (Math.ceil(window.endMs / FRAME_MS) - 1) * FRAME_MS + (caller.dueAt % FRAME_MS);
    caller.decidedAfterMs.push(now - heardAt);
    caller.windows.push(window);
  }
  while (caller.dueAt <= now) {
    caller.stream.write(caller.sound.subarray(caller.at, caller.at + FRAME_SAMPLES));
    caller.at += FRAME_SAMPLES;
    caller.dueAt += FRAME_MS;
  }
}

/** The largest difference between what each call was told and what the same sound gives alone in the model. */
async function differenceToUnbatched(callers: Caller[]): Promise<number> {
  const model = await SileroModel.load();
  const differences: number[] = [];
  for (const { sound, windows } of callers) {
    const state = newSileroState();
    let at = 0;
    for (const { probability, endMs } of windows) {
      // Windows that were lost under way would shift the state: then the difference says so.
      const [alone] = await model.run([{ state, window: sound.subarray(at, at + WINDOW_SAMPLES) }]);
      differences.push(Math.abs((alone ?? Number.NaN) - probability));
      at = (endMs / WINDOW_MS) * WINDOW_SAMPLES;
    }
  }
  return largest(differences);
}

function telephoneSpeech(seconds: number): Int16Array {
  const sound = new Int16Array(seconds * 16_000);
  let at = 0;
  for (const { path } of readSpeech()) {
    const clip = overTelephone(readSpeechFile(path, 16_000));
    sound.set(clip.subarray(0, Math.max(0, sound.length - at)), at);
    at += clip.length + 8000;
    if (at >= sound.length) break;
  }
  return sound;
}

function rotated(sound: Int16Array, by: number): Int16Array {
  const turned = new Int16Array(sound.length);
  turned.set(sound.subarray(by));
  turned.set(sound.subarray(0, by), sound.length - by);
  return turned;
}
