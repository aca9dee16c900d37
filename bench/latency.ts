import { BenchGateway } from './support/bench-gateway.ts';
import { judged, missing, shown, type Figure, type Report } from './support/figures.ts';
import type { EngineDelays, EngineEvent } from './support/gateway-protocol.ts';
import type { BenchOptions } from './support/options.ts';
import type { Exchange } from './support/rtp-exchange.ts';
import { RtpLoad } from './support/rtp-load.ts';
import { largest, percentile } from './support/statistics.ts';
import { holdDelayMs, turnShare, type TurnShare } from './support/turn-share.ts';

const DELAYS: EngineDelays = { sttMs: 60, llmMs: 120, ttsMs: 80, spreadMs: 20 };
/** Speech, endpointing, engines and the part of the reply that is listened to. */
const TURN_SECONDS = 3.2;
const OPENING_SECONDS = 3;
const OWN_P50_MS = 25;
const OWN_P99_MS = 45;
const INTERRUPTED_P99_MS = 200;
const HOLD_MS = 40;
const ANSWERED_MS = 60;

/** One call's conversation with what its engines and detector logged. */
interface Talk { answeredAt: number; exchange: Exchange; events: EngineEvent[] }

/** Voice-to-voice time, the gateway's own share of it, and interruption, at each number of calls. */
export async function latency(options: BenchOptions): Promise<Report> {
  const figures: Figure[] = [];
  const gateway = await BenchGateway.start({ script: { kind: 'exchange', delays: DELAYS }, realtimePriority: true });
  try {
    // The first calls of a process pay for its compilation; a gateway that has warmed up is what is measured.
    await talk(gateway, 4, 1);
    for (const calls of options.calls ?? [1, 50]) figures.push(...(await atCalls(gateway, calls, options.quick)));
    const { priority } = await gateway.state();
    figures.push(shown(`media thread priority: ${priority}`, priority === 'realtime' ? 1 : 0, 'granted'));
  } finally {
    await gateway.close();
  }
  return { bench: 'latency', figures };
}

async function atCalls(gateway: BenchGateway, calls: number, quick: boolean): Promise<Figure[]> {
  const rounds = quick ? 1 : Math.max(1, Math.round(8 / calls));
  const turns = quick ? 4 : 8;
  const talks: Talk[] = [];
  for (let round = 0; round < rounds; round++) talks.push(...(await talk(gateway, calls, turns)));
  return figuresOf(talks, calls, turns);
}

/** So many callers at once, each with so many turns, from answer to hang-up. */
async function talk(gateway: BenchGateway, calls: number, turns: number): Promise<Talk[]> {
  const load = await RtpLoad.start();
  try {
    const callers = await load.open(calls);
    const withinSeconds = OPENING_SECONDS + turns * TURN_SECONDS;
    const conversing = load.converse(callers.map(({ caller }) => caller), { turns, manner: 'interrupting', withinSeconds });
    const opened = await gateway.open(callers.map(({ port }) => port));
    await load.send(callers.map(({ caller }, i) => ({ caller, port: opened[i]?.rtpPort ?? 0 })));
    const exchanges = await conversing;
    await gateway.hangUp(opened.map(({ callId }) => callId));
    const events = Map.groupBy(await gateway.events(), ({ callId }) => callId);
    return exchanges.map(({ exchange }, i) => ({ answeredAt: opened[i]?.answeredAt ?? Number.NaN, exchange, events: events.get(opened[i]?.callId ?? '') ?? [] }));
  } finally {
    await load.close();
  }
}

function figuresOf(talks: Talk[], calls: number, turns: number): Figure[] {
  const at = ` at ${calls} ${calls === 1 ? 'call' : 'calls'}`;
  const all = talks.flatMap((one) => one.exchange.turns.map((turn) => ({ turn, events: one.events })));
  const shares = all.map(({ turn, events }) => turnShare(turn, events)).filter((share) => share !== undefined);
  const cutIns = all.filter(({ turn }) => turn.cutIn);
  const cuts = cutIns.map(({ turn }) => (turn.agentCutAt ?? Number.NaN) - turn.startedAt).filter(Number.isFinite);
  const holds = cutIns.map(({ turn, events }) => holdDelayMs(turn, events)).filter((ms) => ms !== undefined);
  const answers = talks.map(({ answeredAt, exchange }) => (exchange.openingAt ?? Number.NaN) - answeredAt).filter(Number.isFinite);
  const of = (pick: (share: TurnShare) => number, percent: number): number => percentile(shares.map(pick), percent);
  return [
    shown(`turns answered${at}`, shares.length, 'turns'),
    judged(`turns not answered${at}`, talks.length * turns - shares.length, 'turns', 0),
    shown(`voice to voice p50${at}`, of((share) => share.totalMs, 50), 'ms'),
    shown(`voice to voice p99${at}`, of((share) => share.totalMs, 99), 'ms'),
    shown(`endpointing p50${at}`, of((share) => share.endpointingMs, 50), 'ms'),
    shown(`engines p50${at}`, of((share) => share.enginesMs, 50), 'ms'),
    shown(`of it hearing p50${at}`, of((share) => share.own.hearingMs, 50), 'ms'),
    shown(`of it deciding p50${at}`, of((share) => share.own.decidingMs, 50), 'ms'),
    shown(`of it making a sentence p50${at}`, of((share) => share.own.sentenceMs, 50), 'ms'),
    shown(`of it playing p50${at}`, of((share) => share.own.playingMs, 50), 'ms'),
    judged(`own share p50${at}`, of((share) => share.ownMs, 50), 'ms', OWN_P50_MS),
    judged(`own share p99${at}`, of((share) => share.ownMs, 99), 'ms', OWN_P99_MS),
    judged(`interruptions that did not silence the agent${at}`, cutIns.length - cuts.length, 'turns', 0),
    cuts.length > 0 ? shown(`interruption: voice to silence p50${at}`, percentile(cuts, 50), 'ms') : missing(`interruption: voice to silence p50${at}`, 'ms', null, 'no interruption'),
    judged(`interruption: voice to silence p99${at}`, percentile(cuts, 99), 'ms', INTERRUPTED_P99_MS),
    judged(`interruption: detector to silence, longest${at}`, largest(holds), 'ms', HOLD_MS),
    judged(`answer to first agent audio p99${at}`, percentile(answers, 99), 'ms', ANSWERED_MS),
  ];
}
