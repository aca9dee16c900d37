import { once } from 'node:events';
import type { MessagePort } from 'node:worker_threads';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import { FliteTts } from '../../../../src/engines/local/flite-tts.ts';
import { MoonshineStt } from '../../../../src/engines/local/moonshine-stt.ts';
import { SileroVadEngine } from '../../../../src/engines/local/silero-vad.ts';
import { SpeechPool } from '../../../../src/engines/local/speech-pool.ts';
import { SttDecoder } from '../../../../src/engines/local/stt-decoder.ts';
import { ModelLine } from '../../../../src/engines/local/threads/model-line.ts';
import { asteriskPrompt, readSpeechFile, wordErrors } from '../../../support/speech-fixtures.ts';
import { SttCaller } from '../../../support/stt-caller.ts';

// Models on a busy machine: seconds when alone, more beside other test files.
t.setTimeout(120_000);

/** Makes the thread behind the line throw: no message of ours is null. */
function crash(port: MessagePort): Promise<void> {
  return new Promise((resolve) => {
    const line: ModelLine<null, unknown> = new ModelLine(port, {
      onReply: () => {},
      onLost: () => {
        line.close();
        resolve();
      },
      onAttached: () => line.send(null),
    });
  });
}

const events: string[] = [];
const pool = await SpeechPool.start({
  sttThreads: 2,
  ttsThreads: 1,
  log: (_level, event, detail) => events.push(`${event} ${String(detail['thread'])}`),
});
const ports = pool.connect();
const stt = new MoonshineStt(ports.stt);
const tts = new FliteTts(ports.tts);
const vad = new SileroVadEngine(ports.vad);
const clip = asteriskPrompt('agent-newlocation');
const pcm = readSpeechFile(clip.path, 16_000);

async function sayOkay(): Promise<number> {
  const text = (async function* (): AsyncGenerator<string> {
    yield 'All is well.';
  })();
  let samples = 0;
  for await (const speech of tts.speak(text, { voice: 'rms', speed: 1, language: 'en', signal: new AbortController().signal, onUsage: () => {} })) samples += speech.audio.length;
  return samples;
}

async function vadAnswers(): Promise<boolean> {
  const stream = vad.open();
  for (let i = 0; i < 200; i++) {
    stream.write(new Int16Array(320));
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (stream.take().length > 0) {
      stream.close();
      return true;
    }
  }
  return false;
}

t.test('every role is up after the start', async (t) => {
  t.same(events.toSorted(), ['model_thread_ready stt-0', 'model_thread_ready stt-1', 'model_thread_ready tts-0', 'model_thread_ready vad-0']);
  const caller = new SttCaller(stt);
  t.equal(wordErrors(clip.transcript, (await caller.utter(pcm)).text).errors, 0);
  caller.hangUp();
  t.ok((await sayOkay()) > 8000);
  t.ok(await vadAnswers());
});

t.test('ports work in another thread, and its death is no one else\'s', async (t) => {
  const worker = new Worker(
    `const { workerData, parentPort } = require('node:worker_threads');
     workerData.vad.on('message', ({ port }) => {
       port.on('message', (reply) => parentPort.postMessage(reply.probabilities.length));
       port.postMessage({ type: 'windows', marks: Int32Array.of(1, 0, 2, 0), pcm: new Int16Array(1024) });
     });`,
    (() => {
      const { vad: port, stt: sttPorts, tts: ttsPorts } = pool.connect();
      return { eval: true, workerData: { vad: port, stt: sttPorts, tts: ttsPorts }, transferList: [port, ...sttPorts, ...ttsPorts] };
    })(),
  );
  const [answered] = (await once(worker, 'message')) as [number];
  t.equal(answered, 2);
  await worker.terminate();
  t.ok(await vadAnswers());
});

t.test('a thread that falls over is replaced, and what it was asked is still answered', async (t) => {
  const other = pool.connect();
  const caller = new SttCaller(stt);
  const final = caller.utter(pcm);
  await Promise.all(other.stt.map(crash));
  t.equal(wordErrors(clip.transcript, (await final).text).errors, 0, 'the utterance under way');
  caller.hangUp();
  // One kind after the other: all at once load for longer than a caller is made to wait.
  await Promise.all([...other.tts.map(crash), crash(other.vad)]);
  t.ok((await sayOkay()) > 8000, 'speech');
  t.ok(await vadAnswers(), 'voice activity');
  t.equal(events.filter((event) => event.startsWith('model_thread_died')).length, 4);
});

t.test('close with work in flight lets no one wait', async (t) => {
  const decoder = new SttDecoder(pool.connect().stt);
  const decodes = Array.from({ length: 12 }, () => decoder.decode({ kind: 'full', pcm: pcm.slice(), prefix: [], eosReject: 1 }));
  const settled = Promise.allSettled(decodes.map((decode) => decode.result));
  await decodes[0]?.result;
  await pool.close();
  decoder.close();
  const outcomes = await settled;
  t.equal(outcomes[0]?.status, 'fulfilled');
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') t.match(outcome.reason, { name: 'EngineError', kind: 'closed' });
  }
  stt.close();
  tts.close();
  vad.close();
});
