import type { TranscriptItem, TurnLatency } from '../calls/worker-protocol.ts';
import type { ComposedConversation } from '../conversation/composed.ts';
import type { AgentAudioEvent } from '../conversation/conversation-events.ts';
import type { BrowserLeg, BrowserLegEvents } from './browser/browser-leg.ts';
import type { ClientMessage } from './browser/protocol.ts';

export interface BrowserBridgeOptions { callId: string; onJoined: () => void; onFrame: () => void }

/** Translates between a conversation and the realtime protocol (api.md section 8): what a browser is told, and what it may ask. */
export class BrowserBridge implements BrowserLegEvents {
  readonly #options: BrowserBridgeOptions;
  #leg: BrowserLeg | undefined;
  #conversation: ComposedConversation | undefined;

  constructor(options: BrowserBridgeOptions) {
    this.#options = options;
  }

  attach(leg: BrowserLeg, conversation: ComposedConversation): void {
    this.#leg = leg;
    this.#conversation = conversation;
  }

  onJoined(): void {
    this.#options.onJoined();
  }

  onFrame(): void {
    this.#options.onFrame();
  }

  onControl(message: ClientMessage): void {
    const conversation = this.#conversation;
    if (!conversation) return;
    switch (message.type) {
      case 'input.text': conversation.inputText(message.text); break;
      case 'interrupt': conversation.interrupt(); break;
      case 'dtmf': for (const digit of message.digits) conversation.dtmf(digit); break;
      case 'playback.position': conversation.played(message.item_id, message.played_ms); break;
      default: break;
    }
  }

  state(state: 'listening' | 'thinking' | 'speaking'): void {
    this.#leg?.sendControl({ type: 'state', state });
  }

  partial(text: string): void {
    this.#leg?.sendControl({ type: 'transcript.partial', text });
  }

  transcript(item: TranscriptItem): void {
    if (item.role === 'caller') this.#leg?.sendControl({ type: 'transcript.final', text: item.text });
  }

  metrics(latency: TurnLatency): void {
    this.#leg?.sendControl({
      type: 'turn.metrics',
      voice_to_voice_ms: Math.round(latency.voiceToVoiceMs),
      endpointing_ms: Math.round(latency.endpointingMs),
      stt_ms: Math.round(latency.sttMs),
      llm_ms: Math.round(latency.llmMs),
      tts_ms: Math.round(latency.ttsMs),
    });
  }

  agentAudio(event: AgentAudioEvent): void {
    switch (event.kind) {
      case 'start': this.#leg?.sendControl({ type: 'agent.audio.start', item_id: event.itemId }); break;
      case 'text': this.#leg?.sendControl({ type: 'agent.text', item_id: event.itemId, text: event.text }); break;
      case 'end': this.#leg?.sendControl({ type: 'agent.audio.end', item_id: event.itemId }); break;
      case 'corrected': this.#leg?.sendControl({ type: 'agent.corrected', item_id: event.itemId, heard_text: event.heardText }); break;
    }
  }

  clear(): void {
    this.#leg?.clear();
  }
}
