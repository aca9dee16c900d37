import { embeddedVoiceOf } from '../voices/simulated-cloner.ts';
import type { AgentDefinition, Overrides } from './schema.ts';
import { builtInFields, leadFields, renderMergeFields, type MergeLead } from './merge-fields.ts';

/** An agent as a call uses it: merged, defaulted, in plain data. Equal in shape to what a media worker takes. */
export interface ResolvedAgent {
  id: string;
  version: number;
  systemPrompt: string;
  openingMessage: string;
  language: string;
  stt: { model: string; language: string; endpointingMs: number };
  llm: { model: string; temperature: number; maxTokens: number };
  tts: { model: string; voice: string; speed: number; stability: number; similarityBoost: number };
  turnTaking: { interruptSensitivity: 'off' | 'low' | 'normal' | 'high'; silenceWaitMs: number };
  protectOpening: boolean;
  silence: { reminderAfterMs: number; reminderText: string; maxReminders: number; hangUpAfterMs: number };
  maxDurationMs: number;
}

export interface AgentForCall {
  agent: ResolvedAgent;
  /** Merge fields nothing filled: for the call's log. */
  unresolved: string[];
  recording: AgentDefinition['recording'];
}

export interface ResolveOptions {
  /** The call's own values; they win over the agent's. */
  variables: Record<string, string>;
  overrides?: Overrides;
  maxDurationSeconds?: number | undefined;
  now: Date;
  /** The far end's number, for {{phone_number}}. */
  phoneNumber?: string | undefined;
  /** Who the call is with, where that is known. */
  lead?: MergeLead | undefined;
}

/** Substitutes merge fields and overrides. Throws an Error for a voice that is not a composed pipeline. */
export function resolveAgentSpec(row: { id: string; version: number; definition: AgentDefinition }, options: ResolveOptions): AgentForCall {
  const { definition } = row;
  const { stt, llm, tts, turn_taking } = definition.voice;
  if (!stt || !llm || !tts) throw new Error(`Agent ${row.id} speaks through a realtime model, which this version cannot call.`);
  const { overrides = {} } = options;
  const language = overrides.language ?? definition.language;
  const sources = [options.variables, ...leadFields(options.lead), definition.variables, builtInFields(options.now, definition.timezone, language, options.phoneNumber)];
  const prompt = renderMergeFields(overrides.system_prompt ?? definition.system_prompt, sources);
  const opening = renderMergeFields(overrides.opening_message ?? definition.opening_message, sources);
  const consent = definition.recording.enabled && definition.recording.consent_message ? `${definition.recording.consent_message} ` : '';
  const maxDurationSeconds = Math.min(options.maxDurationSeconds ?? Infinity, definition.max_duration_seconds);
  const { silence } = definition;
  return {
    agent: {
      id: row.id,
      version: row.version,
      systemPrompt: prompt.text,
      openingMessage: consent + opening.text,
      language,
      stt: { model: stt.model, language: overrides.language ?? stt.language, endpointingMs: stt.endpointing_ms },
      llm: { model: llm.model, temperature: llm.temperature, maxTokens: llm.max_tokens },
      tts: speakerOf(tts),
      turnTaking: { interruptSensitivity: turn_taking.interrupt_sensitivity, silenceWaitMs: turn_taking.silence_wait_ms },
      protectOpening: definition.protect_opening,
      silence: { reminderAfterMs: silence.reminder_after_ms, reminderText: silence.reminder_text, maxReminders: silence.max_reminders, hangUpAfterMs: silence.hang_up_after_ms },
      maxDurationMs: maxDurationSeconds * 1000,
    },
    unresolved: [...new Set([...prompt.unresolved, ...opening.unresolved])],
    recording: definition.recording,
  };
}

/** A clone that test mode only simulates speaks with the embedded voice that stands in for it. */
function speakerOf({ model, voice, speed, stability, similarity_boost }: NonNullable<AgentDefinition['voice']['tts']>): ResolvedAgent['tts'] {
  return { model, voice: embeddedVoiceOf(voice) ?? voice, speed, stability, similarityBoost: similarity_boost };
}
