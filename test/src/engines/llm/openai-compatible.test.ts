import OpenAI from 'openai';
import t from 'tap';
import { type ChatMessage, EngineError, type LlmEvent } from '../../../../src/engines/engine.ts';
import { OpenAiCompatibleLlm } from '../../../../src/engines/llm/openai-compatible.ts';
import { FakeOpenAi } from '../../../support/fake-openai.ts';

const KEY = 'sk-secret-of-the-test';
const LIMITS = { connectMs: 500, firstTokenMs: 150, stallMs: 120 };
const TOOL = { name: 'end_call', description: 'Ends the call', parameters: { type: 'object', properties: { reason: { type: 'string' } } } };

const fake = await FakeOpenAi.start({ apiKey: KEY, models: ['small'] });
const llm = new OpenAiCompatibleLlm({ baseUrl: fake.baseUrl, apiKey: KEY, model: 'small', id: 'openai-compatible/small', limits: LIMITS });
t.teardown(async () => {
  await llm.close();
  await fake.close();
});

function ask(options: { messages?: ChatMessage[]; signal?: AbortSignal; engine?: OpenAiCompatibleLlm } = {}): AsyncIterable<LlmEvent> {
  return (options.engine ?? llm).reply({
    messages: options.messages ?? [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Hi' }],
    tools: [TOOL],
    temperature: 0.3,
    maxTokens: 100,
    signal: options.signal ?? new AbortController().signal,
  });
}

/** Everything up to the end or the error. */
async function collect(events: AsyncIterable<LlmEvent>): Promise<{ events: LlmEvent[]; error?: EngineError }> {
  const seen: LlmEvent[] = [];
  try {
    for await (const event of events) seen.push(event);
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    return { events: seen, error };
  }
  return { events: seen };
}

const textOf = (events: LlmEvent[]): string => events.map((event) => (event.kind === 'text' ? event.text : '')).join('');

t.test('the fake is understood by the official SDK', async (t) => {
  const sdk = new OpenAI({ apiKey: KEY, baseURL: fake.baseUrl, maxRetries: 0 });
  fake.next({ text: ['Good', ' day.'], toolCalls: [{ id: 'call_1', name: 'end_call', arguments: ['{"rea', 'son":"bye"}'] }], usage: { prompt_tokens: 9, completion_tokens: 4 } });
  const stream = sdk.chat.completions.stream({
    model: 'small',
    messages: [{ role: 'user', content: 'Hi' }],
    tools: [{ type: 'function', function: TOOL }],
    stream_options: { include_usage: true },
  });
  const done = await stream.finalChatCompletion();
  const call = done.choices[0]?.message.tool_calls?.[0];
  t.equal(done.choices[0]?.message.content, 'Good day.');
  t.match(call, { id: 'call_1', function: { name: 'end_call', arguments: '{"reason":"bye"}' } });
  t.equal(done.usage?.total_tokens, 13);
  const refused = new OpenAI({ apiKey: 'wrong', baseURL: fake.baseUrl, maxRetries: 0 });
  const refusal = refused.chat.completions.create({ model: 'small', messages: [{ role: 'user', content: 'Hi' }], stream: true });
  t.match(await refusal.then(() => undefined, (error: unknown) => error), { status: 401 });
  const orphan = sdk.chat.completions.create({ model: 'small', messages: [{ role: 'tool', tool_call_id: 'x', content: '' }], stream: true });
  t.match(await orphan.then(() => undefined, (error: unknown) => error), { status: 400 });
});

t.test('text, tool calls and the vendor\'s usage', async (t) => {
  fake.next({
    text: ['Gr\u00fc\u00df', ' dich. \u{1f600}'],
    toolCalls: [{ id: 'call_7', name: 'end_call', arguments: ['{"reason"', ':"done"}'] }],
    usage: { prompt_tokens: 30, completion_tokens: 8, prompt_tokens_details: { cached_tokens: 10 } },
  });
  const { events, error } = await collect(ask());
  t.equal(error, undefined);
  t.equal(textOf(events), 'Gr\u00fc\u00df dich. \u{1f600}');
  t.same(events.find((event) => event.kind === 'toolCall'), { kind: 'toolCall', call: { id: 'call_7', name: 'end_call', arguments: { reason: 'done' } } });
  t.same(
    events.filter((event) => event.kind === 'usage').map(({ usage }) => [usage.measure, usage.quantity, usage.source, usage.model]),
    [['input_token', 20, 'vendor', 'openai-compatible/small'], ['cached_input_token', 10, 'vendor', 'openai-compatible/small'], ['output_token', 8, 'vendor', 'openai-compatible/small']],
  );
});

t.test('a history with tool calls keeps the API\'s order', async (t) => {
  fake.next({ text: ['Done.'] });
  const { error } = await collect(ask({
    messages: [
      { role: 'user', content: 'Book it' },
      { role: 'assistant', content: '', toolCalls: [{ id: 'a', name: 'end_call', arguments: { reason: 'x' } }] },
      { role: 'tool', toolCallId: 'a', content: 'ok' },
      { role: 'user', content: 'Thanks' },
    ],
  }));
  t.equal(error, undefined);
  t.match(fake.requests.at(-1)?.messages[1], { content: null, tool_calls: [{ id: 'a', type: 'function', function: { arguments: '{"reason":"x"}' } }] });
});

t.test('usage is estimated when the server gives none', async (t) => {
  fake.next({ text: ['12345678'] });
  const { events } = await collect(ask());
  const output = events.find((event) => event.kind === 'usage' && event.usage.measure === 'output_token');
  t.match(output, { usage: { quantity: 2, source: 'estimated' } });
});

const FAULTS = [
  { name: 'a wrong request is not worth a retry', fault: { kind: 'status', status: 400, message: 'bad tool' }, kind: 'invalid', retry: false },
  { name: '401 is auth', fault: { kind: 'status', status: 401, message: `key ${KEY} is revoked` }, kind: 'auth', retry: false },
  { name: '429 is rate', fault: { kind: 'status', status: 429, message: 'slow down' }, kind: 'rate', retry: true },
  { name: '500 is internal', fault: { kind: 'status', status: 500, message: 'oops' }, kind: 'internal', retry: true },
  { name: 'a cut in mid-reply', fault: { kind: 'cut', afterChunks: 2 }, kind: 'closed', retry: true },
  { name: 'a stream that just ends', fault: { kind: 'raw', body: 'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n' }, kind: 'closed', retry: true },
  { name: 'silence in mid-reply', fault: { kind: 'stall', afterChunks: 2 }, kind: 'stalled', retry: true },
  { name: 'a 200 that never says anything', fault: { kind: 'stall', afterChunks: 1 }, kind: 'timeout', retry: true },
  { name: 'chunks that are not JSON', fault: { kind: 'raw', body: 'data: <html>\n\n' }, kind: 'invalid', retry: true },
  { name: 'no event stream at all', fault: { kind: 'raw', body: '<html><body>Gateway</body></html>' }, kind: 'closed', retry: true },
  { name: 'an endless line', fault: { kind: 'raw', body: `data: ${'x'.repeat(200_000)}` }, kind: 'invalid', retry: true },
  { name: 'an error inside the stream', fault: { kind: 'raw', body: 'data: {"error":{"message":"overloaded"}}\n\n' }, kind: 'internal', retry: true },
  { name: 'tool arguments that are not JSON', fault: { kind: 'raw', body: 'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]},"finish_reason":"tool_calls"}]}\n\n' }, kind: 'invalid', retry: true },
] as const;

for (const { name, fault, kind, retry } of FAULTS) {
  t.test(name, async (t) => {
    fake.next({ text: ['One', ' two', ' three'], fault });
    const { error } = await collect(ask());
    t.match(error, { kind, retry });
    t.notMatch(`${error?.message} ${String(error?.cause)}`, KEY, 'the key is in no error');
  });
}

t.test('nobody listens there', async (t) => {
  const nowhere = new OpenAiCompatibleLlm({ baseUrl: 'http://127.0.0.1:9/v1', apiKey: KEY, model: 'small', id: 'x', limits: LIMITS });
  t.match((await collect(ask({ engine: nowhere }))).error, { kind: 'connect', retry: true });
  await nowhere.close();
  t.throws(() => new OpenAiCompatibleLlm({ baseUrl: 'file:///etc', apiKey: KEY, model: 'small', id: 'x' }), EngineError);
});

t.test('an abort ends the reply quietly, drops the connection and estimates', async (t) => {
  fake.next({ text: ['One', ' two'], fault: { kind: 'stall', afterChunks: 2 } });
  const turn = new AbortController();
  const before = fake.aborted;
  const seen: LlmEvent[] = [];
  for await (const event of ask({ signal: turn.signal })) {
    seen.push(event);
    if (event.kind === 'text') turn.abort();
  }
  t.equal(textOf(seen), 'One');
  t.match(seen.at(-1), { kind: 'usage', usage: { measure: 'output_token', source: 'estimated' } });
  while (fake.aborted === before) await new Promise(setImmediate);
  t.equal(fake.aborted, before + 1);
});

t.test('a signal that is aborted already asks nothing', async (t) => {
  const before = fake.requests.length;
  t.same((await collect(ask({ signal: AbortSignal.abort() }))).events, []);
  t.equal(fake.requests.length, before);
});
