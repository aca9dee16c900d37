import t from 'tap';
import { ExchangeCaller, type Manner } from '../../bench/support/rtp-exchange.ts';
import { SILENT_PAYLOAD, voicedPayloads } from '../../bench/support/speech-pattern.ts';
import { isVoiced } from '../../bench/support/ulaw.ts';

const voice = voicedPayloads(60);
const agentVoice = Buffer.concat([Buffer.alloc(12), voice[0] ?? SILENT_PAYLOAD]);
const agentSilence = Buffer.concat([Buffer.alloc(12), SILENT_PAYLOAD]);

/** A caller on a clock of its own, one frame of 20 ms at a time against an agent that speaks when told. */
function meet(manner: Manner, turns: number): { caller: ExchangeCaller; frames: (count: number, agentSpeaks: boolean) => number } {
  let nowMs = 0;
  const caller = new ExchangeCaller({ voice: () => voice, turns, manner, now: () => nowMs });
  const frames = (count: number, agentSpeaks: boolean): number => {
    let voiced = 0;
    for (let i = 0; i < count; i++) {
      nowMs += 20;
      caller.hear(agentSpeaks ? agentVoice : agentSilence);
      if (isVoiced(caller.next(), 0)) voiced++;
    }
    return voiced;
  };
  return { caller, frames };
}

t.test('the test sounds are what the detector takes them for', (t) => {
  t.ok(voice.every((payload) => isVoiced(payload, 0)));
  t.notOk(isVoiced(SILENT_PAYLOAD, 0));
  t.end();
});

t.test('a caller waits for the opening to end, speaks, and notes when the answer begins', (t) => {
  const { caller, frames } = meet('interrupting', 1);
  t.equal(frames(50, true), 0, 'silent over the opening');
  t.equal(caller.exchange.openingAt, 20);
  t.equal(frames(200, false), 60, 'speaks once');
  const [turn] = caller.exchange.turns;
  t.equal((turn?.endedAt ?? 0) - (turn?.startedAt ?? 0), 59 * 20);
  t.equal(turn?.repliedAt, undefined);
  frames(1, true);
  t.equal(turn?.repliedAt, 251 * 20);
  t.ok(caller.done);
  t.end();
});

t.test('an interrupting caller cuts into the reply and notes the last it heard of it', (t) => {
  const { caller, frames } = meet('interrupting', 2);
  frames(10, true);
  frames(100, false);
  frames(1, true);
  t.equal(frames(39, true), 0, 'listens a while');
  frames(3, true);
  frames(100, false);
  const turn = caller.exchange.turns[1];
  t.equal(turn?.cutIn, true);
  t.equal((turn?.agentCutAt ?? 0) - (turn?.startedAt ?? 0), 40);
  t.end();
});

t.test('an agent that is not silenced was not cut', (t) => {
  const { caller, frames } = meet('interrupting', 2);
  frames(10, true);
  frames(100, false);
  frames(200, true);
  t.match(caller.exchange.turns[1], { cutIn: true });
  t.equal(caller.exchange.turns[1]?.agentCutAt, undefined);
  t.end();
});

t.test('a polite caller lets each reply end; one who is never answered gives up', (t) => {
  const { caller, frames } = meet('polite', 2);
  frames(10, true);
  t.equal(frames(130, false), 60);
  t.equal(frames(80, true), 0, 'silent over the reply');
  t.equal(frames(130, false), 60);
  t.equal(caller.exchange.turns[1]?.cutIn, false);
  frames(300, false);
  t.ok(caller.done);
  t.equal(caller.exchange.turns[1]?.repliedAt, undefined);
  t.end();
});
