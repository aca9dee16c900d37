import t from 'tap';
import type { EngineEvent } from '../../bench/support/gateway-protocol.ts';
import { holdDelayMs, turnShare } from '../../bench/support/turn-share.ts';

const at = (ms: number): { callId: string; at: number } => ({ callId: 'call-0', at: ms });
const ended = (ms: number, silentMs: number): EngineEvent => ({ ...at(ms), kind: 'speech_ended', silentMs });
const work = (ms: number, engine: 'stt' | 'llm' | 'tts', delayMs: number): EngineEvent => ({ ...at(ms), kind: 'work', engine, delayMs });
const turn = { startedAt: 0, endedAt: 1000, repliedAt: 1800, cutIn: false };

t.test('what is neither endpointing nor an engine is the gateway own share', (t) => {
  const events = [ended(1461, 460), work(1461, 'stt', 60), work(1530, 'llm', 120), work(1655, 'tts', 80)];
  t.same(turnShare(turn, events), {
    totalMs: 800, endpointingMs: 460, enginesMs: 260, ownMs: 80,
    own: { hearingMs: 1, decidingMs: 9, sentenceMs: 5, playingMs: 65 },
  });
  t.end();
});

t.test('engines that work at the same time count once, and ahead of the endpoint not at all', (t) => {
  const events = [work(1400, 'llm', 120), ended(1461, 460), work(1461, 'stt', 60), work(1500, 'tts', 80)];
  t.match(turnShare(turn, events), { totalMs: 800, endpointingMs: 460, enginesMs: 1580 - 1461, ownMs: 800 - 460 - 119 });
  t.end();
});

t.test('an engine that answers later than it promised costs the gateway', (t) => {
  const early = turnShare({ ...turn, repliedAt: 1560 }, [ended(1461, 460), work(1461, 'stt', 60)]);
  const late = turnShare({ ...turn, repliedAt: 1590 }, [ended(1461, 460), work(1461, 'stt', 60)]);
  t.equal((late?.ownMs ?? 0) - (early?.ownMs ?? 0), 30);
  t.end();
});

t.test('a turn without a reply or an endpoint has no share', (t) => {
  t.equal(turnShare({ startedAt: 0, endedAt: 1000, cutIn: false }, [ended(1461, 460)]), undefined);
  t.equal(turnShare(turn, [ended(900, 460)]), undefined, 'an endpoint before the caller had finished is another turn');
  t.end();
});

t.test('hold is counted from the detector decision to the last voiced packet', (t) => {
  const events: EngineEvent[] = [{ ...at(62), kind: 'voice_started' }];
  t.equal(holdDelayMs({ ...turn, cutIn: true, agentCutAt: 85 }, events), 23);
  t.equal(holdDelayMs({ ...turn, cutIn: true, agentCutAt: 50 }, events), 0);
  t.equal(holdDelayMs({ ...turn, cutIn: true }, events), undefined);
  t.equal(holdDelayMs({ ...turn, cutIn: true, agentCutAt: 85 }, []), undefined);
  t.end();
});
