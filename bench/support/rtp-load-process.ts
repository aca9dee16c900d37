/** The RTP generator and receiver: a process of its own, so that it measures the gateway's lateness and not its own. */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from './monotonic.ts';
import { ArrivalLog } from './receiver-stats.ts';
import { RtpCaller } from './rtp-caller.ts';
import { ExchangeCaller } from './rtp-exchange.ts';
import type { Arrivals, FromLoad, ToLoad } from './rtp-load-protocol.ts';
import { SILENT_PAYLOAD, voicedPayloads } from './speech-pattern.ts';

const PERIOD_MS = 20;
const VOICED_FRAMES = 60;
const PATTERN_FRAMES = 100;
/** The golden ratio spreads any number of callers evenly over the period. */
const SPREAD = 0.618033988749895;
const MAX_LATENESS_KEPT = 1_000_000;

const voice = voicedPayloads(VOICED_FRAMES);

interface Sender { caller: RtpCaller; dueAt: number; frame: number; exchange: ExchangeCaller | undefined }

const callers: RtpCaller[] = [];
const senders: Sender[] = [];
let lateness: number[] | undefined;

/** Sends what is due; a sleep of one millisecond keeps the batches small, so that receiving is hardly delayed. */
function sendDue(): void {
  const now = monotonicMs();
  for (const sender of senders) {
    while (sender.dueAt <= now) {
      if (lateness && lateness.length < MAX_LATENESS_KEPT) lateness.push(now - sender.dueAt);
      sender.dueAt += PERIOD_MS;
      const frame = sender.frame++;
      sender.caller.send(sender.exchange ? sender.exchange.next() : (voice[frame % PATTERN_FRAMES] ?? SILENT_PAYLOAD), frame === 0);
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
    senders.push({ caller, dueAt: from + phase, frame: (index * 37) % PATTERN_FRAMES, exchange: undefined });
  }
}

async function measure(seconds: number): Promise<Arrivals> {
  lateness = [];
  const logs = callers.map((caller) => {
    const log = new ArrivalLog(seconds);
    caller.arrivals = log;
    return log;
  });
  const sentBefore = callers.reduce((sum, caller) => sum + caller.sent, 0);
  await sleep(seconds * 1000);
  const sent = callers.reduce((sum, caller) => sum + caller.sent, 0) - sentBefore;
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

async function converse(indexes: number[], turns: number, withinSeconds: number): Promise<FromLoad> {
  const talking = indexes.map((index) => {
    const caller = at(index);
    const exchange = new ExchangeCaller({ voice, turns, now: monotonicMs });
    const sender = senders.find((candidate) => candidate.caller === caller);
    if (!sender) throw new Error(`caller ${index} was told to converse before it was told where to send`);
    sender.exchange = exchange;
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
    case 'measure': return measure(message.seconds);
    case 'converse': return converse(message.callers, message.turns, message.withinSeconds);
  }
}

function tick(): void {
  sendDue();
  setTimeout(tick, 1);
}

process.on('message', (message: ToLoad) => {
  answer(message).then(
    (reply) => process.send?.(reply),
    (error: unknown) => process.send?.({ type: 'failed', message: String(error) } satisfies FromLoad),
  );
});
// A generator whose benchmark is gone must not go on sending.
process.on('disconnect', () => process.exit(0));
tick();
process.send?.({ type: 'ready' } satisfies FromLoad);
