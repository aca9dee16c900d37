import { setTimeout as sleep } from 'node:timers/promises';
import { asteriskPrompts } from '../test/support/speech-fixtures.ts';
import { judged, shown, type Figure, type Report } from './support/figures.ts';
import type { BenchOptions } from './support/options.ts';
import type { Exchange } from './support/rtp-exchange.ts';
import { RtpLoad } from './support/rtp-load.ts';
import { RunningGateway, withDataDir } from './support/running-gateway.ts';
import { SipCaller, type Answer } from './support/sip-caller.ts';
import { clipPayloads, longestPauseMs } from './support/speech-pattern.ts';
import { percentile } from './support/statistics.ts';

/** Six a core on two cores: what admission control lets in. */
const CALLS = 12;
const P95_S = 1.4;
const CLIP_FRAMES = { from: 70, to: 200 };
/** A longer pause inside a recording would end the caller's turn for a fast listener. */
const LONGEST_PAUSE_MS = 240;
const MAX_CLIPS = 24;
/** Calls come in one after another, not in the same millisecond. */
const CALL_EVERY_MS = 150;

interface Placed { caller: number; sip: SipCaller; answer: Answer }

/** Real speech into the whole running gateway by SIP, embedded engines, as many calls as it admits, and one more. */
export async function speech(options: BenchOptions): Promise<Report> {
  const figures: Figure[] = [];
  for (const calls of options.calls ?? [CALLS]) {
    figures.push(...(await withDataDir((dataDir) => atCalls(dataDir, calls, options.quick))));
  }
  return { bench: 'speech', figures };
}

async function atCalls(dataDir: string, calls: number, quick: boolean): Promise<Figure[]> {
  const gateway = await RunningGateway.start(dataDir);
  const load = await RtpLoad.start();
  try {
    const server = { number: gateway.demoNumber(), port: gateway.sipPort };
    const callers = await load.open(calls + 1);
    const withinSeconds = quick ? 15 : 90;
    const conversing = load.converse(callers.slice(0, calls).map(({ caller }) => caller), { turns: quick ? 2 : 6, manner: 'polite', withinSeconds, clips: clips() });
    const placed: Placed[] = [];
    for (const { caller, port } of callers) placed.push(await place(server, load, caller, port));
    const exchanges = await conversing;
    for (const { sip } of placed) {
      await sip.hangUp();
      sip.close();
    }
    return figuresOf(placed, exchanges.map(({ exchange }) => exchange), calls);
  } finally {
    await load.close();
    await gateway.stop();
  }
}

async function place(server: { number: string; port: number }, load: RtpLoad, caller: number, port: number): Promise<Placed> {
  const sip = await SipCaller.open(server);
  const answer = await sip.call(port);
  if (answer.kind === 'answered') await load.send([{ caller, port: answer.rtpPort }]);
  await sleep(CALL_EVERY_MS);
  return { caller, sip, answer };
}

function figuresOf(placed: Placed[], exchanges: Exchange[], calls: number): Figure[] {
  const at = ` at ${calls} calls`;
  const admitted = placed.filter(({ answer }) => answer.kind === 'answered').length;
  const turns = exchanges.flatMap((exchange) => exchange.turns);
  const replies = turns.map((turn) => ((turn.repliedAt ?? Number.NaN) - turn.endedAt) / 1000).filter(Number.isFinite);
  return [
    judged(`calls admitted of ${calls + 1}`, admitted, 'calls', calls),
    judged(`calls missing of ${calls}`, Math.max(0, calls - admitted), 'calls', 0),
    shown(`turns answered${at}`, replies.length, 'turns'),
    // The last turn of a call may be cut off by the end of the measurement.
    judged(`turns not answered${at}`, Math.max(0, turns.length - replies.length - exchanges.length), 'turns', 0),
    shown(`end of speech to first agent audio p50${at}`, percentile(replies, 50), 's'),
    judged(`end of speech to first agent audio p95${at}`, percentile(replies, 95), 's', P95_S),
  ];
}

/** Recordings of one sentence without a long pause. */
function clips(): string[] {
  const fitting = asteriskPrompts().filter(({ path }) => {
    const frames = clipPayloads(path);
    return frames.length >= CLIP_FRAMES.from && frames.length <= CLIP_FRAMES.to && longestPauseMs(frames) <= LONGEST_PAUSE_MS;
  });
  return fitting.slice(0, MAX_CLIPS).map(({ path }) => path);
}
