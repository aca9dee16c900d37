import type { EngineEvent } from './gateway-protocol.ts';
import type { ExchangeTurn } from './rtp-exchange.ts';

/** Where the time of one answered turn went, ms. */
export interface TurnShare {
  totalMs: number;
  endpointingMs: number;
  enginesMs: number;
  ownMs: number;
  /** The own share by place; without overlapping engines these add up to it. */
  own: {
    /** From the packet that ends the wait, sent, to the utterance closed. */
    hearingMs: number;
    /** From the final text due to the language model asked. */
    decidingMs: number;
    /** From its first words due to speech synthesis asked. */
    sentenceMs: number;
    /** From its first sound due to the packet received. */
    playingMs: number;
  };
}

/**
 * Splits a turn's voice-to-voice time. Endpointing is the silence that had been heard when the utterance was closed; engine
 * time is the promised delay of every engine that worked after that, overlaps counted once, so that an engine's late timer
 * is the gateway's own doing. What is left is the gateway's own share: network, jitter buffer, waits for the next frame.
 * undefined for a turn without a reply or without an endpoint.
 */
export function turnShare(turn: ExchangeTurn, events: readonly EngineEvent[]): TurnShare | undefined {
  const { repliedAt } = turn;
  if (repliedAt === undefined) return undefined;
  const endpoint = events.filter((event) => event.kind === 'speech_ended' && event.at > turn.endedAt && event.at < repliedAt).at(-1);
  if (endpoint?.kind !== 'speech_ended') return undefined;
  const totalMs = repliedAt - turn.endedAt;
  const work = events.filter((event) => event.kind === 'work' && event.at > turn.startedAt && event.at < repliedAt) as Work[];
  const enginesMs = unionLength(work.map(({ at, delayMs }) => ({ from: Math.max(at, endpoint.at), to: Math.min(at + delayMs, repliedAt) })));
  const newest = (engine: Work['engine']): Work | undefined => work.findLast((one) => one.engine === engine);
  const [stt, llm, tts] = [newest('stt'), newest('llm'), newest('tts')];
  return {
    totalMs,
    endpointingMs: endpoint.silentMs,
    enginesMs,
    ownMs: totalMs - endpoint.silentMs - enginesMs,
    own: {
      hearingMs: endpoint.at - turn.endedAt - endpoint.silentMs,
      decidingMs: between(stt, llm?.at),
      sentenceMs: between(llm, tts?.at),
      playingMs: between(tts, repliedAt),
    },
  };
}

type Work = Extract<EngineEvent, { kind: 'work' }>;

function between(work: Work | undefined, until: number | undefined): number {
  return work === undefined || until === undefined ? Number.NaN : until - work.at - work.delayMs;
}

/** Milliseconds from the detector's decision to the agent's last voiced packet; 0 when that was earlier, undefined when one is missing. */
export function holdDelayMs(turn: ExchangeTurn, events: readonly EngineEvent[]): number | undefined {
  if (turn.agentCutAt === undefined) return undefined;
  const decided = events.find((event) => event.kind === 'voice_started' && event.at > turn.startedAt && event.at < turn.endedAt);
  return decided ? Math.max(0, turn.agentCutAt - decided.at) : undefined;
}

function unionLength(spans: { from: number; to: number }[]): number {
  let covered = 0;
  let reached = Number.NEGATIVE_INFINITY;
  for (const { from, to } of spans.sort((a, b) => a.from - b.from)) {
    covered += Math.max(0, to - Math.max(from, reached));
    reached = Math.max(reached, to);
  }
  return covered;
}
