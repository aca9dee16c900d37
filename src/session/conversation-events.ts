import type { FromWorker } from '../calls/worker-protocol.ts';
import type { ConversationEvents } from '../conversation/conversation-events.ts';
import type { BrowserBridge } from './browser-bridge.ts';
import type { CallFigures } from './call-figures.ts';

/** Where what happens in a conversation goes: the main thread (transcript, log), the call's figures, and the browser if there is one. */
export function conversationEvents(to: {
  callId: string;
  figures: CallFigures;
  now: () => number;
  post: (message: FromWorker) => void;
  bridge: BrowserBridge | undefined;
}): ConversationEvents {
  const { callId, figures, now, post, bridge } = to;
  return {
    onState: (state) => bridge?.state(state),
    onPartial: (text) => bridge?.partial(text),
    onTranscript: (item) => {
      post({ type: 'transcript', callId, item });
      bridge?.transcript(item);
    },
    onLog: (entry) => post({ type: 'log', callId, entry }),
    onUsage: (usage) => post({ type: 'log', callId, entry: { at: Date.now(), source: 'engine', event: 'usage', detail: { ...usage } } }),
    onTurn: (latency) => {
      figures.turn(latency);
      bridge?.metrics(latency);
    },
    onInterruption: (kind) => figures.interruption(kind),
    onAgentAudio: (event) => {
      if (event.kind === 'start') figures.agentAudioStarted(now());
      bridge?.agentAudio(event);
    },
    onClear: () => bridge?.clear(),
  };
}
