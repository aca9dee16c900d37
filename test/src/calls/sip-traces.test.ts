import t from 'tap';
import type { LiveCall } from '../../../src/calls/live-call.ts';
import { SipTraces } from '../../../src/calls/sip-traces.ts';
import type { TraceEntry } from '../../../sip/user-agent.ts';

interface Line { event: string; detail?: Record<string, unknown> }

function fakeCall(): { call: LiveCall; lines: Line[]; end: () => void } {
  const lines: Line[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  return { call: { log: (line: Line) => void lines.push(line), done: promise } as unknown as LiveCall, lines, end: resolve };
}

const entry = (callId: string, text: string): TraceEntry => ({ callId, at: 1, direction: 'in', summary: 'INVITE sip:a@b', source: { transport: 'udp', address: '192.0.2.9', port: 5070 }, text });

t.test('messages are kept whole, those from before the call first', async (t) => {
  const traces = new SipTraces();
  const { call, lines } = fakeCall();
  traces.add(entry('x', 'INVITE …'));
  traces.add(entry('other', 'not ours'));
  traces.follow('x', call);
  traces.add(entry('x', 'ACK …'));
  t.match(lines, [
    { event: 'INVITE sip:a@b', detail: { direction: 'in', peer: '192.0.2.9:5070', transport: 'udp', message: 'INVITE …' } },
    { detail: { message: 'ACK …' } },
  ]);
  t.equal(lines.length, 2);
});

t.test('a flood leaves its first lines only, and no message is longer than 16 384 characters', async (t) => {
  const traces = new SipTraces();
  const { call, lines } = fakeCall();
  traces.follow('x', call);
  traces.add(entry('x', 'y'.repeat(20_000)));
  for (let n = 0; n < 300; n++) traces.add(entry('x', 'z'));
  t.equal(String(lines[0]?.detail?.['message']).length, 16_384);
  t.equal(lines.length, 301);
  t.equal(lines.filter(({ detail }) => detail?.['message'] !== undefined).length, 200);
});
