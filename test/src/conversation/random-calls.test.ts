import t from 'tap';
import { EngineError } from '../../../src/engines/engine.ts';
import { Rig } from './rig.ts';

const unhandled: unknown[] = [];
process.on('unhandledRejection', (error) => unhandled.push(error));

function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

/** A call of random length, sounds, engine speeds and failures. */
async function randomCall(seed: number): Promise<Rig> {
  const random = dice(seed);
  const replies = Array.from({ length: 5 }, () => ({
    text: Array.from({ length: random(4) }, (_, n) => `Sentence ${n} of some words. `),
    ...(random(4) === 0 ? { error: new EngineError('stalled', 'x', { retry: random(2) === 0 }) } : {}),
  }));
  const rig = new Rig({
    agent: { protectOpening: random(3) === 0, turnTaking: { interruptSensitivity: (['off', 'low', 'normal', 'high'] as const)[random(4)]!, silenceWaitMs: 200 + random(800) }, maxDurationMs: 15_000 + random(20_000) },
    stt: { utterances: Array.from({ length: 30 }, (_, n) => (random(4) ? `u${n}a u${n}b u${n}c.` : '')), finalMs: random(2000), ...(random(2) ? { partialMs: random(600) } : {}), eagerMs: random(400) },
    llm: { replies, firstMs: random(1500), pieceMs: random(300) },
    tts: { firstMs: random(300) },
  });
  await rig.answer();
  for (let step = 0; step < 25 && !rig.leg.signal.aborted; step++) {
    const what = random(10);
    if (what < 4) await rig.voice(20 + random(1500));
    else if (what < 8) await rig.silence(20 + random(2500));
    else if (what === 8) rig.conversation.dtmf(String(random(10)));
    else if (random(2)) rig.conversation.inputText('typed');
    else rig.conversation.interrupt();
  }
  await rig.silence(6000);
  rig.leg.hangUp('caller_hangup');
  await rig.clock.advance(5000);
  return rig;
}

t.test('random calls never break, and never answer the same words twice', async (t) => {
  for (let seed = 1; seed <= 60; seed++) {
    const rig = await randomCall(seed);
    const broken = rig.log.filter((entry) => entry.event === 'conversation_broken');
    if (broken.length > 0) t.fail(`seed ${seed}: ${JSON.stringify(broken)}`);
    const words = rig.sent.filter((item) => item.role === 'caller').flatMap((item) => item.text.match(/u\d+[abc]/g) ?? []);
    if (new Set(words).size < words.length) t.fail(`seed ${seed}: ${words.join(' ')}`);
    const agent = rig.sent.filter((item) => item.role === 'agent' && item.interrupted);
    for (const item of agent) if (!item.text.startsWith(item.heardText ?? '?')) t.fail(`seed ${seed}: heard "${item.heardText}" of "${item.text}"`);
    if (rig.turns.some((turn) => turn.voiceToVoiceMs < 0 || turn.endpointingMs < 0 || turn.llmMs < 0 || turn.ttsMs < 0 || turn.sttMs < 0)) t.fail(`seed ${seed}: ${JSON.stringify(rig.turns)}`);
  }
  t.same(unhandled, []);
});
