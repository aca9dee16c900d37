import t from 'tap';
import { Rig } from './rig.ts';

const LONG = { text: ['We have a table for two at seven, and another one at half past eight. ', 'Which of them would you like to have? '] };

t.test('the opening is there before the call is answered, and is spoken at once', async (t) => {
  const rig = new Rig();
  await rig.answer();
  await rig.silence(20);
  t.equal(rig.leg.soundMs(20), 20, 'the first frame has sound');
  await rig.silence(1500);
  t.same(rig.transcript, ['agent: Hello, how can I help?']);
  t.same(rig.states, ['thinking', 'speaking', 'listening']);
  t.same(rig.audio.map((event) => event.kind), ['text', 'start', 'end']);
});

t.test('an agent without an opening listens', async (t) => {
  const rig = new Rig({ agent: { openingMessage: '' } });
  await rig.answer();
  await rig.silence(1000);
  t.same(rig.states, ['listening']);
  t.equal(rig.leg.soundMs(1000), 0);
});

t.test('three turns', async (t) => {
  const rig = new Rig({
    stt: { utterances: ['I want a table.', 'For two people.', 'Thank you, bye.'] },
    llm: { replies: [{ text: ['For how many', ' people?'] }, { text: ['Your table is booked. '] }, { text: ['Goodbye!'] }] },
  });
  await rig.greeted();
  for (let turn = 0; turn < 3; turn++) {
    await rig.voice(1000);
    await rig.silence(2500);
  }
  t.same(rig.transcript, [
    'agent: Hello, how can I help?', 'caller: I want a table.', 'agent: For how many people?',
    'caller: For two people.', 'agent: Your table is booked.', 'caller: Thank you, bye.', 'agent: Goodbye!',
  ]);
  t.same(rig.history, [
    'assistant: Hello, how can I help?', 'user: I want a table.', 'assistant: For how many people?',
    'user: For two people.', 'assistant: Your table is booked.', 'user: Thank you, bye.',
  ]);
  t.match(rig.llm.asked[0]?.messages[0]?.content, /^You take bookings\.[\s\S]*speech recognition/);
  const caller = rig.sent.filter((item) => item.role === 'caller');
  t.ok(caller.every((item) => item.endedMs - item.startedMs >= 900 && item.endedMs - item.startedMs <= 1100), 'times of the caller\'s words');
  t.ok(rig.usage.includes('stt') && rig.usage.includes('llm') && rig.usage.includes('tts'));
});

t.test('latency runs from the caller\'s last voice to the agent\'s first, and its stages add up', async (t) => {
  const rig = new Rig({ stt: { utterances: ['I want a table.'] } });
  await rig.greeted();
  await rig.voice(1000);
  await rig.silence(2000);
  t.equal(rig.turns.length, 1);
  const { voiceToVoiceMs, endpointingMs, sttMs, llmMs, ttsMs } = rig.turns[0]!;
  t.equal(endpointingMs + sttMs + llmMs + ttsMs, voiceToVoiceMs);
  t.equal(endpointingMs, 460, '0.9 of 500 ms, in frames: the text was complete and came early');
  t.equal(sttMs, 0);
  t.ok(llmMs >= 100 && llmMs <= 120);
  t.ok(voiceToVoiceMs - endpointingMs - 100 - 40 <= 40, `own share ${voiceToVoiceMs - endpointingMs - 140} ms`);
});

t.test('an interruption stops the agent, and history holds only what was heard', async (t) => {
  const rig = new Rig({
    stt: { utterances: ['I want a table.', 'Half past eight then.'], partialMs: 400 },
    llm: { replies: [LONG, { text: ['Booked.'] }] },
  });
  await rig.greeted();
  await rig.voice(800);
  await rig.silence(1700); // the agent has said about four words
  t.ok(rig.leg.soundMs(200) > 0);
  await rig.voice(100);
  t.equal(rig.leg.soundMs(20), 0, 'held within 100 ms');
  await rig.voice(900);
  t.same(rig.interruptions, ['by_caller']);
  t.ok(rig.leg.cleared > 0);
  await rig.silence(2500);
  t.match(rig.transcript[2], /^agent: We have a table( for)?( two)?( at)? —$/);
  t.match(rig.history[2], /^assistant: We have a table[a-z ]* —$/);
  t.equal(rig.history.at(-1), 'user: Half past eight then.');
  t.equal(rig.transcript.at(-1), 'agent: Booked.');
  t.equal(rig.audio.filter((event) => event.kind === 'corrected').length, 1);
  t.notOk(rig.tts.spoken.includes('Which of them would you like to have?'), 'what nobody hears is not synthesised');
});

t.test('the reply is shown while it is spoken, and corrected when it is cut', async (t) => {
  const rig = new Rig({ stt: { utterances: ['Table.', 'Stop.'], partialMs: 100 }, llm: { replies: [{ text: ['One two three four five six. ', 'Seven eight nine ten.'] }] } });
  await rig.greeted();
  await rig.voice(600);
  await rig.silence(2000);
  const shown = rig.sent.filter((item) => item.role === 'agent').at(-1);
  t.same({ text: shown?.text, heardText: shown?.heardText }, { text: 'One two three four five six. Seven eight nine ten.', heardText: undefined });
  await rig.voice(400);
  await rig.silence(100);
  const corrected = rig.sent.filter((item) => item.position === shown?.position).at(-1);
  t.equal(corrected?.interrupted, true);
  t.ok(corrected?.heardText && corrected.heardText.length < shown!.text.length);
});

t.test('a cough holds the agent and lets it go on', async (t) => {
  const rig = new Rig({ stt: { utterances: ['I want a table.', ''] }, llm: { replies: [LONG] } });
  await rig.greeted();
  await rig.voice(800);
  await rig.silence(1700);
  await rig.voice(300);
  t.equal(rig.leg.soundMs(160), 0, 'silent during the cough');
  await rig.silence(800);
  t.ok(rig.leg.soundMs(400) > 0, 'goes on soon after');
  await rig.silence(6000);
  t.same(rig.interruptions, ['false_alarm']);
  t.equal(rig.transcript.at(-1), `agent: ${LONG.text.join('').trim()}`);
  t.equal(rig.llm.asked.length, 1);
});

t.test('an acknowledgement does not interrupt, and stands in the transcript', async (t) => {
  const rig = new Rig({ stt: { utterances: ['I want a table.', 'Uh-huh.'], partialMs: 200 }, llm: { replies: [LONG] } });
  await rig.greeted();
  await rig.voice(800);
  await rig.silence(1700);
  await rig.voice(600);
  await rig.silence(7000);
  t.same(rig.interruptions, ['false_alarm']);
  t.ok(rig.transcript.includes(`agent: ${LONG.text.join('').trim()}`));
  t.equal(rig.transcript.at(-1), 'caller: Uh-huh.');
  t.equal(rig.llm.asked.length, 1, 'it is no turn');
});

t.test('"yes" right before the agent\'s end is an answer', async (t) => {
  const rig = new Rig({ stt: { utterances: ['I want a table.', 'Yes.'] }, llm: { replies: [{ text: ['Is that for tonight then?'] }, { text: ['Fine.'] }] } });
  await rig.greeted();
  await rig.voice(800);
  await rig.silence(1300); // the question ends 200 to 300 ms later
  await rig.voice(300);
  await rig.silence(3000);
  t.equal(rig.transcript.at(-1), 'agent: Fine.');
  t.equal(rig.history.at(-1), 'user: Yes.');
});

t.test('a protected opening is spoken to its end; what was said over it is answered afterwards', async (t) => {
  const rig = new Rig({ agent: { protectOpening: true, openingMessage: 'This call is recorded. How can I help you today?' }, stt: { utterances: ['Give me a table please.'] } });
  await rig.answer();
  await rig.silence(200);
  await rig.voice(800);
  t.ok(rig.leg.soundMs(600) > 400, 'not held');
  await rig.silence(4000);
  t.same(rig.transcript, ['agent: This call is recorded. How can I help you today?', 'caller: Give me a table please.', 'agent: All right.']);
  t.same(rig.interruptions, []);
});

t.test('sensitivity', async (t) => {
  const talkOver = async (interruptSensitivity: 'off' | 'low' | 'high', words: string, ms: number): Promise<Rig> => {
    const rig = new Rig({ agent: { turnTaking: { interruptSensitivity, silenceWaitMs: 500 } }, stt: { utterances: ['I want a table.', words], partialMs: 200 }, llm: { replies: [LONG, { text: ['Fine.'] }] } });
    await rig.greeted();
    await rig.voice(800);
    await rig.silence(1700);
    await rig.voice(ms);
    return rig;
  };
  await t.test('off: never stopped, nothing lost', async (t) => {
    const rig = await talkOver('off', 'No, I want something else.', 1500);
    t.ok(rig.leg.soundMs(1500) > 1000);
    await rig.silence(8000);
    t.same(rig.interruptions, []);
    t.same(rig.transcript.slice(2), [`agent: ${LONG.text.join('').trim()}`, 'caller: No, I want something else.', 'agent: Fine.']);
  });
  await t.test('low: two words are not enough, a sentence is', async (t) => {
    const short = await talkOver('low', 'My table.', 1000);
    await short.silence(7000);
    t.same(short.interruptions, ['false_alarm']);
    t.equal(short.history.at(-1), 'user: My table.', 'but they are answered in the end');
    const sentence = await talkOver('low', 'I want something else.', 1200);
    t.same(sentence.interruptions, ['by_caller']);
  });
  await t.test('high: 200 ms of voice', async (t) => {
    const rig = await talkOver('high', 'Listen.', 260);
    t.same(rig.interruptions, ['by_caller']);
  });
  await t.test('high: a noise that stopped the agent does not leave it silent', async (t) => {
    const rig = await talkOver('high', '', 400);
    await rig.silence(3000);
    t.same(rig.interruptions, ['by_caller']);
    t.equal(rig.transcript.at(-1), 'agent: Fine.');
    t.match(rig.history.at(-1), /^system: A noise cut you off/);
  });
});

t.test('a caller who goes on while the agent thinks is not talked over, and both parts are answered together', async (t) => {
  const rig = new Rig({
    stt: { utterances: ['I want a table.', 'For two people at eight.'], partialMs: 200 },
    llm: { replies: [{ text: ['For how many?'] }, { text: ['Booked.'] }], firstMs: 800 },
  });
  await rig.greeted();
  await rig.voice(800);
  await rig.silence(700);
  t.equal(rig.llm.asked.length, 1, 'thinking');
  await rig.voice(1000);
  await rig.silence(3000);
  t.same(rig.transcript.slice(1), ['caller: I want a table.', 'caller: For two people at eight.', 'agent: Booked.']);
  t.equal(rig.history.at(-1), 'user: I want a table. For two people at eight.');
  t.notOk(rig.tts.spoken.includes('For how many?'));
});

t.test('a sound while the agent thinks only delays it', async (t) => {
  const rig = new Rig({ stt: { utterances: ['I want a table.', ''] }, llm: { replies: [{ text: ['Booked.'] }], firstMs: 300 } });
  await rig.greeted();
  await rig.voice(800);
  await rig.silence(600);
  await rig.voice(400);
  await rig.silence(1500);
  t.equal(rig.transcript.at(-1), 'agent: Booked.');
  t.equal(rig.llm.asked.length, 1);
});

t.test('noise is no turn', async (t) => {
  const rig = new Rig({ stt: { utterances: [''] } });
  await rig.greeted();
  await rig.voice(500);
  await rig.silence(4000);
  t.equal(rig.llm.asked.length, 0);
  t.same(rig.transcript, ['agent: Hello, how can I help?']);
});

t.test('a final that comes late is not waited for when there is a partial, and is not answered twice', async (t) => {
  const rig = new Rig({ stt: { utterances: ['I want a table.'], partialMs: 300, eagerMs: 60_000, finalMs: 3000 } });
  await rig.greeted();
  await rig.voice(800);
  await rig.silence(6000);
  t.equal(rig.llm.asked.length, 1);
  t.same(rig.transcript.slice(1), ['caller: I want a table.', 'agent: All right.']);
});

t.test('end_call', async (t) => {
  const endCall = { id: '1', name: 'end_call', arguments: {} };
  await t.test('the goodbye is heard before the line is cut', async (t) => {
    const rig = new Rig({ stt: { utterances: ['Bye.'] }, llm: { replies: [{ text: ['Thank you and goodbye.'], toolCalls: [endCall] }] } });
    await rig.greeted();
    await rig.voice(400);
    await rig.silence(8000);
    t.equal(rig.leg.endReason, 'agent_hangup');
    t.equal(rig.transcript.at(-1), 'agent: Thank you and goodbye.');
    t.ok(rig.leg.soundMs(1000) >= 600, 'spoken up to the end');
  });
  await t.test('a model that hangs up without a word says goodbye', async (t) => {
    const rig = new Rig({ stt: { utterances: ['Bye.'] }, llm: { replies: [{ text: [], toolCalls: [endCall] }] } });
    await rig.greeted();
    await rig.voice(400);
    await rig.silence(8000);
    t.equal(rig.leg.endReason, 'agent_hangup');
    t.equal(rig.transcript.at(-1), 'agent: Goodbye.');
  });
  await t.test('a caller who says more keeps the line', async (t) => {
    const rig = new Rig({ stt: { utterances: ['Bye.', 'Wait, one more thing.'], partialMs: 200 }, llm: { replies: [{ text: ['Thank you for calling and goodbye.'], toolCalls: [endCall] }, { text: ['Yes?'] }] } });
    await rig.greeted();
    await rig.voice(400);
    await rig.silence(1200);
    await rig.voice(800);
    await rig.silence(3000);
    t.equal(rig.leg.endReason, undefined);
    t.equal(rig.transcript.at(-1), 'agent: Yes?');
  });
});

t.test('silence: one reminder, then the end', async (t) => {
  const rig = new Rig({ agent: { silence: { reminderAfterMs: 2000, reminderText: 'Still there?', maxReminders: 1, hangUpAfterMs: 5000 } } });
  await rig.greeted();
  await rig.silence(3000);
  t.equal(rig.transcript.at(-1), 'agent: Still there?');
  await rig.silence(5000);
  t.equal(rig.leg.endReason, 'silence_timeout');
  t.equal(rig.tts.spoken.filter((text) => text === 'Still there?').length, 1);
});

t.test('the longest duration: a goodbye nobody can stop, then the end', async (t) => {
  const rig = new Rig({ agent: { maxDurationMs: 3000 }, stt: { utterances: ['But I want to go on.'] } });
  await rig.greeted();
  await rig.silence(1600);
  await rig.voice(1000);
  await rig.silence(5000);
  t.equal(rig.leg.endReason, 'max_duration');
  t.match(rig.transcript.at(-2), /our time is up/);
  t.equal(rig.transcript.at(-1), 'caller: But I want to go on.', 'nobody answers it, and it is not lost');
});

t.test('what a caller was saying when they hung up stands in the transcript', async (t) => {
  const rig = new Rig({ stt: { utterances: ['Never mind, bye.'] } });
  await rig.greeted();
  await rig.voice(800);
  await rig.silence(400);
  rig.leg.hangUp('caller_hangup');
  t.equal(rig.transcript.at(-1), 'caller: Never mind, bye.');
});

t.test('typed text and keys are turns', async (t) => {
  const rig = new Rig({ llm: { replies: [{ text: ['One two three four five six.'] }, { text: ['Thanks.'] }] } });
  await rig.greeted();
  rig.conversation.inputText('  hello there ');
  rig.conversation.inputText('   ');
  await rig.silence(600);
  t.equal(rig.history.at(-1), 'user: hello there');
  for (const key of ['1', 'x', '2', '#']) rig.conversation.dtmf(key);
  await rig.silence(1500);
  t.equal(rig.history.at(-1), 'user: [keypad] 12#');
  t.match(rig.history.at(-2), /^assistant: One.* —$/, 'they interrupt');
  rig.conversation.inputText('x'.repeat(10_000));
  await rig.silence(100);
  t.equal(rig.sent.filter((item) => item.role === 'caller').at(-1)?.text.length, 4000);
});

t.test('the far end may ask for silence, and say what it has played', async (t) => {
  const rig = new Rig();
  await rig.answer();
  await rig.silence(620);
  rig.conversation.played('item_1', 450);
  rig.conversation.played('item_9', 620);
  rig.conversation.played('item_1', Number.NaN);
  rig.conversation.interrupt();
  await rig.silence(40);
  t.same(rig.transcript, ['agent: Hello, how —']);
  t.equal(rig.leg.soundMs(20), 0);
});

t.test('everything ends with the leg', async (t) => {
  const rig = new Rig({ stt: { utterances: ['I want a table.'] }, llm: { replies: [LONG] } });
  await rig.greeted();
  await rig.voice(800);
  await rig.silence(1500);
  rig.leg.hangUp('caller_hangup');
  await rig.clock.advance(1000);
  t.equal(rig.conversation.say().every((sample) => sample === 0), true);
  t.match(rig.transcript.at(-1), /^agent: We have.* —$/, 'the last words heard stand in the transcript');
  const items = rig.sent.length;
  rig.conversation.hear(new Int16Array(320));
  await rig.clock.advance(10_000);
  t.equal(rig.sent.length, items);
});
