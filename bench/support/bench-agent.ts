import type { AgentSpec } from '../../src/calls/worker-protocol.ts';
import type { Script } from './gateway-protocol.ts';

/** Silence after which a caller with whole sentences has finished is nine tenths of this (src/conversation/end-evidence.ts). */
export const SILENCE_WAIT_MS = 500;

/** The agent of one measured call; its engines are named after the call, so that each call has its own. */
export function agentFor(callId: string, kind: Script['kind']): AgentSpec {
  return {
    id: 'bench',
    version: 1,
    systemPrompt: 'You are measured.',
    openingMessage: 'Hello.',
    language: 'en',
    stt: { model: callId, language: 'en', endpointingMs: SILENCE_WAIT_MS },
    llm: { model: callId, temperature: 0, maxTokens: 100 },
    tts: { model: callId, voice: 'bench', speed: 1, stability: 0.5, similarityBoost: 0.5 },
    turnTaking: { interruptSensitivity: kind === 'monologue' ? 'off' : 'normal', silenceWaitMs: SILENCE_WAIT_MS },
    protectOpening: true,
    silence: { reminderAfterMs: 3_600_000, reminderText: 'Are you there?', maxReminders: 1, hangUpAfterMs: 3_600_000 },
    maxDurationMs: 3_600_000,
  };
}
