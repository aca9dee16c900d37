/** A media worker that speaks the protocol without media: `agent.systemPrompt` of a call says how it behaves. */
import { parentPort } from 'node:worker_threads';
import type { FromWorker, ToWorker } from '../../src/calls/worker-protocol.ts';

if (!parentPort) throw new Error('runs as a thread');
const control = parentPort;
const post = (message: FromWorker): void => control.postMessage(message);
const summary = { turns: [], interruptions: { byCaller: 0, falseAlarms: 0 } };
const calls = new Set<string>();

function open(callId: string, behaviour: string): void {
  calls.add(callId);
  if (behaviour === 'crash') throw new Error('the worker breaks');
  if (behaviour === 'fail') post({ type: 'ended', callId, reason: 'internal_error', detail: 'no port', summary });
  else post({ type: 'opened', callId, rtpPort: 4000 });
}

/** A call that is told to say `end` ends instead of answering. */
function obey({ callId, number, command }: Extract<ToWorker, { type: 'command' }>): void {
  if (command.kind === 'say' && command.text === 'end') post({ type: 'ended', callId, reason: 'agent_hangup', summary });
  else post({ type: 'commandDone', callId, number, outcome: command.kind === 'dtmf' ? 'not_possible' : 'done' });
}

control.on('message', (message: ToWorker) => {
  switch (message.type) {
    case 'ping':
      post({ type: 'pong', sequence: message.sequence, calls: calls.size });
      break;
    case 'open': open(message.callId, message.agent.systemPrompt); break;
    case 'answered':
      post({ type: 'transcript', callId: message.callId, item: { position: 0, role: 'agent', text: 'Hello', startedMs: 0, endedMs: 400 } });
      post({ type: 'transcript', callId: message.callId, item: { position: 1, role: 'caller', text: 'Hi', startedMs: 500, endedMs: 900 } });
      break;
    case 'hangUp':
      if (calls.delete(message.callId)) post({ type: 'ended', callId: message.callId, reason: message.reason, summary });
      break;
    case 'command': obey(message); break;
    case 'media': break;
    case 'close':
      for (const callId of calls) post({ type: 'ended', callId, reason: 'service_shutdown', summary });
      control.close();
      break;
  }
});
post({ type: 'ready', browserPort: 1234, priority: 'normal' });
