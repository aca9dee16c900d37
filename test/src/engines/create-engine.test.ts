import { MessageChannel } from 'node:worker_threads';
import t from 'tap';
import { DEFAULT_VOICE, ENGINE_MODELS, knownModels } from '../../../src/engines/catalogue.ts';
import { createEngines } from '../../../src/engines/create-engine.ts';
import { FLITE_DEFAULT_VOICE, FLITE_MODEL, FLITE_VOICES } from '../../../src/engines/local/flite-tts.ts';
import { MOONSHINE_MODEL } from '../../../src/engines/local/moonshine-stt.ts';
import { OFFLINE_MODEL } from '../../../src/engines/local/offline-agent.ts';

const port = (): import('node:worker_threads').MessagePort => new MessageChannel().port1;
const modelPorts = { vad: port(), stt: [port()], tts: [port()] };

t.test('the catalogue and the engines name the same models', async (t) => {
  const engines = createEngines({ modelPorts, llm: { baseUrl: 'http://127.0.0.1:1/v1', apiKey: 'k', model: 'tiny/chat' } });
  for (const { component, model } of ENGINE_MODELS) t.equal(engines[component](model).model, model);
  t.equal(engines.llm('openai-compatible/tiny/chat').model, 'openai-compatible/tiny/chat');
  t.same([DEFAULT_VOICE.stt.model, DEFAULT_VOICE.llm.model, DEFAULT_VOICE.tts.model, DEFAULT_VOICE.tts.voice], [MOONSHINE_MODEL, OFFLINE_MODEL, FLITE_MODEL, FLITE_DEFAULT_VOICE]);
  t.same(ENGINE_MODELS.find((entry) => entry.component === 'tts')?.voices, FLITE_VOICES);
  t.throws(() => engines.stt('deepgram/nova-3'), /no stt model "deepgram\/nova-3" here; known: local\/moonshine-tiny-en/);
  await engines.close();
});

t.test('what is known depends on what is configured', (t) => {
  t.same(knownModels('tts'), ['local/flite']);
  t.same(knownModels('stt'), ['local/moonshine-tiny-en']);
  t.same(knownModels('llm'), ['local/offline-agent']);
  t.same(knownModels('llm', 'small'), ['local/offline-agent', 'openai-compatible/small']);
  t.end();
});
