import t from 'tap';
import { Rig } from './rig.ts';

const LONG = { text: ['We have a table for two at seven, and another one at half past eight. '] };

t.test('a text is spoken once it is quiet, and stands in transcript and history', async (t) => {
  const rig = new Rig({ stt: { utterances: ['I want a table.'] } });
  await rig.greeted();
  t.equal(rig.conversation.speak('Your table is ready.'), true);
  await rig.silence(1500);
  t.same(rig.transcript, ['agent: Hello, how can I help?', 'agent: Your table is ready.']);
  await rig.voice(1000);
  await rig.silence(1500);
  t.same(rig.history, ['assistant: Hello, how can I help? Your table is ready.', 'user: I want a table.']);
});

t.test('it waits for the agent to finish what it is saying', async (t) => {
  const rig = new Rig();
  await rig.answer();
  await rig.silence(200);
  rig.conversation.speak('One.');
  rig.conversation.speak('Two.');
  await rig.silence(4000);
  t.same(rig.transcript, ['agent: Hello, how can I help?', 'agent: One.', 'agent: Two.']);
  t.same(rig.interruptions, []);
});

t.test('it does not speak over the caller', async (t) => {
  const rig = new Rig({ stt: { utterances: ['I want a table for two people.'] }, llm: { replies: [LONG] } });
  await rig.greeted();
  await rig.voice(500);
  rig.conversation.speak('Your table is ready.');
  await rig.voice(500);
  await rig.silence(8000);
  t.same(rig.transcript, [
    'agent: Hello, how can I help?', 'caller: I want a table for two people.',
    'agent: We have a table for two at seven, and another one at half past eight.', 'agent: Your table is ready.',
  ], 'the caller is answered first');
});

t.test('the caller may interrupt it', async (t) => {
  const rig = new Rig({ stt: { utterances: ['No, stop it please.'] } });
  await rig.greeted();
  rig.conversation.speak('Let me read you all of our terms and conditions, which are long and tedious to hear.');
  await rig.silence(600);
  await rig.voice(1200);
  await rig.silence(2500);
  t.same(rig.interruptions, ['by_caller']);
  t.match(rig.transcript[1], /^agent: Let me .* —$/);
});

t.test('a seventeenth text does not wait', async (t) => {
  const rig = new Rig();
  await rig.answer();
  for (let n = 0; n < 16; n++) t.equal(rig.conversation.speak(`Text ${n}.`), true);
  t.equal(rig.conversation.speak('One more.'), false);
});

t.test('what the agent is told reaches the model with its next reply, and nobody else', async (t) => {
  const rig = new Rig({ stt: { utterances: ['I want a table.', 'For two.'] }, llm: { replies: [{ text: ['Fine. '] }, { text: ['Fine. '] }] } });
  await rig.greeted();
  await rig.voice(1000);
  await rig.silence(2000);
  t.notMatch(rig.llm.asked.at(-1)?.messages[0]?.content, /VIP/);
  rig.conversation.inform('The caller is a VIP.');
  rig.conversation.inform('The kitchen closes at nine.');
  await rig.voice(1000);
  await rig.silence(2000);
  t.match(rig.llm.asked.at(-1)?.messages[0]?.content, /learnt since the call began[\s\S]*The caller is a VIP\.\nThe kitchen closes at nine\./);
  t.notMatch(rig.transcript.join(), /VIP/);
  const entries = rig.log.filter(({ event }) => event === 'context_added');
  t.match(entries, [{ source: 'session', detail: { characters: 20 } }, {}]);
  t.notMatch(JSON.stringify(rig.log), /VIP/, 'the log says that, not what');
});

t.test('of more than the model is given, the newest stays', async (t) => {
  const rig = new Rig({ stt: { utterances: ['I want a table.'] } });
  await rig.greeted();
  for (let n = 0; n < 8; n++) rig.conversation.inform(`${n}${'x'.repeat(3999)}`);
  await rig.voice(1000);
  await rig.silence(1500);
  const system = rig.llm.asked.at(-1)?.messages[0]?.content ?? '';
  t.match(system, /7xxx/);
  t.notMatch(system, /2xxx/);
});
