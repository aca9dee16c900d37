/** The RTP generator and receiver: a process of its own, so that it measures the gateway's lateness and not its own. */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from './monotonic.ts';
import { ArrivalLog } from './receiver-stats.ts';
import { RtpCaller } from './rtp-caller.ts';
import { ExchangeCaller } from './rtp-exchange.ts';
import { serve } from './serve.ts';
import type { Arrivals, FromLoad, Timing, ToLoad } from './rtp-load-protocol.ts';
import { clipPayloads, SILENT_PAYLOAD, voicedPayloads } from './speech-pattern.ts';

const PERIOD_MS = 20;
const VOICED_FRAMES = 60;
const PATTERN_FRAMES = 100;
/** The golden ratio spreads any number of callers evenly over the period. */
const SPREAD = 0.618033988749895;
const MAX_LATENESS_KEPT = 1_000_000;

const voice = voicedPayloads(VOICED_FRAMES);

interface Sender { caller: RtpCaller; dueAt: number; frame: number }

const callers: RtpCaller[] = [];
const senders: Sender[] = [];
const exchanges = new Map<RtpCaller, ExchangeCaller>();
const nobody = new Int32Array(new SharedArrayBuffer(4));
let lateness: number[] | undefined;
let timing: Timing = 'exact';

/** Sends what is due; a sleep of one millisecond keeps the batches small, so that receiving is hardly delayed. */
function sendDue(): void {
  const now = monotonicMs();
  for (const sender of senders) {
    while (sender.dueAt <= now) {
      if (lateness && lateness.length < MAX_LATENESS_KEPT) lateness.push(now - sender.dueAt);
      sender.dueAt += PERIOD_MS;
      const frame = sender.frame++;
      const payload = exchanges.get(sender.caller)?.next() ?? voice[frame % PATTERN_FRAMES] ?? SILENT_PAYLOAD;
      sender.caller.send(payload, frame === 0);
    }
  }
}

async function open(count: number): Promise<number[]> {
  const opened = await Promise.all(Array.from({ length: count }, () => RtpCaller.open(monotonicMs)));
  callers.push(...opened);
  return opened.map((caller) => caller.port);
}

async function send(to: { caller: number; port: number }[]): Promise<void> {
  const connected = await Promise.all(to.map(async ({ caller: index, port }) => {
    const caller = at(index);
    await caller.connect(port);
    return { caller, index };
  }));
  const from = monotonicMs() + PERIOD_MS;
  for (const { caller, index } of connected) {
    const phase = ((index * SPREAD) % 1) * PERIOD_MS;
    // Bursts start at different frames, or every caller would speak at once.
    senders.push({ caller, dueAt: from + phase, frame: (index * 37) % PATTERN_FRAMES });
  }
}

async function measure(seconds: number, wanted: Timing): Promise<Arrivals> {
  timing = wanted;
  lateness = [];
  const logs = callers.map((caller) => {
    const log = new ArrivalLog(seconds);
    caller.arrivals = log;
    return log;
  });
  const sentBefore = callers.reduce((sum, caller) => sum + caller.sent, 0);
  await sleep(seconds * 1000);
  const sent = callers.reduce((sum, caller) => sum + caller.sent, 0) - sentBefore;
  timing = 'exact';
  for (const caller of callers) caller.arrivals = undefined;
  const heard = logs.filter((log) => log.size > 0).map((log) => log.summary());
  const sum = (pick: (call: (typeof heard)[number]) => number): number => heard.reduce((total, call) => total + pick(call), 0);
  const sendLatenessMs = Float64Array.from(lateness);
  lateness = undefined;
  return {
    type: 'arrivals',
    callers: heard.length,
    received: sum((call) => call.received),
    sent,
    lost: sum((call) => call.lost),
    late: sum((call) => call.late),
    duplicated: sum((call) => call.duplicated),
    deviationsMs: concatenate(heard.map((call) => call.deviationsMs)),
    sendLatenessMs,
  };
}

async function converse({ callers: indexes, turns, manner, withinSeconds, clips }: Extract<ToLoad, { type: 'converse' }>): Promise<FromLoad> {
  const spoken = clips ? clips.map(clipPayloads) : [voice];
  const talking = indexes.map((index) => {
    const caller = at(index);
    const says = (turn: number): Uint8Array[] => spoken[(index + turn) % spoken.length] ?? voice;
    const exchange = new ExchangeCaller({ voice: says, turns, manner, now: monotonicMs });
    exchanges.set(caller, exchange);
    caller.onPacket = (packet) => exchange.hear(packet);
    return { index, exchange };
  });
  const giveUpAt = monotonicMs() + withinSeconds * 1000;
  while (monotonicMs() < giveUpAt && !talking.every(({ exchange }) => exchange.done)) await sleep(50);
  return { type: 'exchanges', exchanges: talking.map(({ index, exchange }) => ({ caller: index, exchange: exchange.exchange })) };
}

function at(index: number): RtpCaller {
  const caller = callers[index];
  if (!caller) throw new Error(`the generator has no caller ${index}: open it first`);
  return caller;
}

function concatenate(parts: Float64Array[]): Float64Array {
  const whole = new Float64Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

async function answer(message: ToLoad): Promise<FromLoad> {
  switch (message.type) {
    case 'open': return { type: 'ports', ports: await open(message.callers) };
    case 'send': await send(message.to); return { type: 'sending' };
    case 'measure': return measure(message.seconds, message.timing);
    case 'converse': return converse(message);
  }
}

/**
 * The loop. Waiting in the event loop lets every packet that comes wake this process at once: its arrival is timed to some
 * 20 microseconds, but whoever sent it pays for the wake-up, the same for each single packet. Asleep outside the event loop
 * it wakes every millisecond and finds what has come, as a network card that moderates its interrupts does.
 */
function tick(): void {
  sendDue();
  if (timing === 'exact') {
    setTimeout(tick, 1);
  } else {
    Atomics.wait(nobody, 0, 0, 1);
    setImmediate(tick);
  }
}

tick();
serve(answer);
