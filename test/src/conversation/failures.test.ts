import t from 'tap';
import { RenderedLines } from '../../../src/conversation/spoken-lines.ts';
import { EngineError, type LlmEngine, type Speech, type SttEngine, type SttEvent, type TtsEngine } from '../../../src/engines/engine.ts';
import { scriptedSpeech } from '../../support/scripted-engines.ts';
import { Rig } from './rig.ts';

const again = new EngineError('stalled', 'model stalled', { retry: true });
const final = new EngineError('auth', 'key refused', { retry: false });
const unhandled: unknown[] = [];
process.on('unhandledRejection', (error) => unhandled.push(error));
t.teardown(() => {
  if (unhandled.length > 0) throw new Error(`unhandled rejections: ${unhandled.map(String).join(', ')}`);
});

async function ask(rig: Rig, silenceMs = 4000): Promise<void> {
  await rig.voice(800);
  await rig.silence(silenceMs);
}

t.test('language model', async (t) => {
  await t.test('a failure before the first word is tried again unheard', async (t) => {
    const rig = new Rig({ stt: { utterances: ['A table.'] }, llm: { replies: [{ text: [], error: again }, { text: ['Booked.'] }] } });
    await rig.greeted();
    await ask(rig);
    t.equal(rig.llm.asked.length, 2);
    t.same(rig.transcript.slice(1), ['caller: A table.', 'agent: Booked.']);
  });
  await t.test('an empty reply is a failure', async (t) => {
    const rig = new Rig({ stt: { utterances: ['A table.'] }, llm: { replies: [{ text: [] }, { text: ['Booked.'] }] } });
    await rig.greeted();
    await ask(rig);
    t.equal(rig.transcript.at(-1), 'agent: Booked.');
  });
  await t.test('one that cannot be helped is apologised for; the next turn goes on', async (t) => {
    const rig = new Rig({ stt: { utterances: ['A table.', 'A table!'] }, llm: { replies: [{ text: [], error: final }, { text: ['Booked.'] }] } });
    await rig.greeted();
    await ask(rig);
    t.match(rig.transcript.at(-1), /^agent: I'm sorry, something went wrong/);
    await rig.silence(1000);
    await ask(rig);
    t.equal(rig.transcript.at(-1), 'agent: Booked.');
    t.equal(rig.leg.endReason, undefined);
  });
  await t.test('a second failed turn in a row ends the call, politely', async (t) => {
    const rig = new Rig({ stt: { utterances: ['A table.', 'A table!'] }, llm: { replies: [{ text: [], error: final }] } });
    await rig.greeted();
    await ask(rig);
    await rig.silence(1500);
    await ask(rig, 8000);
    t.equal(rig.leg.endReason, 'llm_failed');
    t.match(rig.transcript.at(-1), /can't go on/);
  });
  await t.test('what was said before a failure is heard', async (t) => {
    const rig = new Rig({ stt: { utterances: ['A table.'] }, llm: { replies: [{ text: ['We have two tables. ', 'The first'], error: again }] } });
    await rig.greeted();
    await ask(rig, 6000);
    t.same(rig.transcript.slice(2).map((line) => line.slice(0, 40)), ['agent: We have two tables. The first', 'agent: I\'m sorry, something went wrong o']);
  });
  await t.test('one that never answers is given up on', async (t) => {
    const mute: LlmEngine = { model: 'mute', async *reply({ signal }) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      yield* [];
    } };
    const rig = new Rig({ stt: { utterances: ['A table.'] }, engines: { llm: mute } });
    await rig.greeted();
    await ask(rig, 25_000);
    t.match(rig.transcript.at(-1), /something went wrong/);
  });
  await t.test('an error of no known kind', async (t) => {
    const rig = new Rig({ stt: { utterances: ['A table.'] }, llm: { replies: [{ text: [], error: new TypeError('x is undefined') }] } });
    await rig.greeted();
    await ask(rig);
    t.match(rig.transcript.at(-1), /something went wrong/);
    t.match(rig.log.find((entry) => entry.event === 'llm_failed')?.detail, { message: /x is undefined/ });
  });
});

/** A voice that fails whenever `fails` says so, after `pieces` pieces. */
function brokenTts(fails: (call: number) => EngineError | undefined, pieces = 0): TtsEngine & { texts: string[] } {
  const texts: string[] = [];
  let calls = 0;
  return { model: 'broken', texts, async *speak(text): AsyncGenerator<Speech> {
    const error = fails(++calls);
    let given = 0;
    for await (const piece of text) {
      if (error && given++ === pieces) throw error;
      texts.push(piece);
      yield scriptedSpeech(piece, 200, 'tone');
    }
  } };
}

t.test('voice', async (t) => {
  const reply = { text: ['One two. ', 'Three four. ', 'Five six.'] };
  await t.test('a failure goes on with the first sentence not spoken', async (t) => {
    const tts = brokenTts((call) => (call === 4 ? again : undefined), 1); // opening, two lines kept ready, then the reply
    const rig = new Rig({ stt: { utterances: ['A table.'] }, llm: { replies: [reply] }, engines: { tts } });
    await rig.greeted();
    await ask(rig);
    t.equal(rig.transcript.at(-1), 'agent: One two. Three four. Five six.');
    t.same(tts.texts.slice(-3), ['One two.', 'Three four.', 'Five six.']);
  });
  await t.test('apologises with what was rendered while it still worked, then ends the call', async (t) => {
    const rig = new Rig({ stt: { utterances: ['A table.', 'A table!'] }, llm: { replies: [reply] }, engines: { tts: brokenTts((call) => (call > 3 ? final : undefined)) } });
    await rig.greeted();
    await ask(rig);
    t.match(rig.transcript.at(-1), /something went wrong/);
    await rig.silence(2000);
    await ask(rig, 8000);
    t.equal(rig.leg.endReason, 'tts_failed');
    t.match(rig.transcript.at(-1), /can't go on/);
  });
  await t.test('one that never worked ends the call at once', async (t) => {
    const rig = new Rig({ engines: { tts: brokenTts(() => final) } });
    await rig.answer();
    await rig.silence(200);
    t.equal(rig.leg.endReason, 'tts_failed');
  });
  await t.test('lines are rendered once for all calls of a voice', async (t) => {
    const lines = new RenderedLines();
    const first = new Rig({ lines });
    await first.greeted();
    const second = new Rig({ lines });
    await second.greeted();
    t.equal(first.tts.spoken.length, 1 + 2, 'the opening and two lines');
    t.equal(second.tts.spoken.length, 1);
  });
});

/** A recogniser whose first streams fail. */
function failingStt(errors: EngineError[]): SttEngine & { opened: number } {
  const engine = {
    model: 'failing', opened: 0,
    open: (options: { signal: AbortSignal; onEvent: (event: SttEvent) => void }) => {
      const error = errors[engine.opened++];
      let writtenMs = 0;
      return {
        write: () => {
          writtenMs += 20;
          if (error && writtenMs === 200) setImmediate(() => options.onEvent({ kind: 'failed', error }));
        },
        mark: (mark: string) => {
          const endMs = writtenMs;
          if (mark === 'speech_ended') setImmediate(() => options.onEvent({ kind: 'final', text: 'A table.', confidence: 0.9, startMs: endMs - 500, endMs }));
        },
      };
    },
  };
  return engine;
}

t.test('speech-to-text', async (t) => {
  await t.test('is opened again, and its clock is put right', async (t) => {
    const stt = failingStt([again]);
    const rig = new Rig({ engines: { stt } });
    await rig.greeted();
    await ask(rig);
    t.equal(stt.opened, 2);
    t.same(rig.transcript.slice(1), ['caller: A table.', 'agent: All right.']);
  });
  await t.test('that fails again ends the call, politely', async (t) => {
    const rig = new Rig({ engines: { stt: failingStt([again, again]) } });
    await rig.greeted();
    await rig.silence(6000);
    t.equal(rig.leg.endReason, 'stt_failed');
    t.match(rig.transcript.at(-1), /can't go on/);
  });
  await t.test('that cannot be helped ends the call', async (t) => {
    const rig = new Rig({ engines: { stt: failingStt([final]) } });
    await rig.answer();
    await rig.silence(8000);
    t.equal(rig.leg.endReason, 'stt_failed');
  });
});

t.test('a leg that is gone before the conversation begins', async (t) => {
  const rig = new Rig();
  rig.leg.hangUp('caller_hangup');
  await rig.conversation.prepareOpening();
  rig.conversation.start();
  rig.conversation.hear(new Int16Array(320));
  await rig.clock.advance(5000);
  t.same(rig.transcript, []);
});

t.test('an opening that takes too long does not keep the phone ringing', async (t) => {
  const rig = new Rig({ tts: { firstMs: 60_000 } });
  await rig.conversation.prepareOpening();
  t.pass('given up on after openingWaitMs');
  rig.leg.hangUp('caller_hangup');
});
