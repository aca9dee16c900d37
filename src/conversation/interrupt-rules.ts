import type { SpokenEvidence } from './spoken-words.ts';

export type InterruptSensitivity = 'off' | 'low' | 'normal' | 'high';

/** What it takes to stop an agent that speaks. */
export interface InterruptRule {
  never: boolean;
  /** Voice for so long holds it; the detector's own decision takes about 64 ms. */
  holdAfterMs: number;
  /** Voice for so long interrupts when at least `wordsWithVoice` real words are known of it. */
  voicedMs: number;
  wordsWithVoice: number;
  /** So many real words interrupt however short the voice. */
  words: number;
  /** So many real words in an utterance that has ended interrupt. */
  wordsWhenFinished: number;
}

/**
 * `normal` and `low` ask for words besides voice: while the agent is held the caller hears no difference, and a long
 * "mm-hmm" or a cough then costs a pause instead of the reply.
 */
const RULES: Record<InterruptSensitivity, InterruptRule> = {
  off: { never: true, holdAfterMs: Infinity, voicedMs: Infinity, wordsWithVoice: Infinity, words: Infinity, wordsWhenFinished: Infinity },
  low: { never: false, holdAfterMs: 400, voicedMs: 800, wordsWithVoice: 3, words: Infinity, wordsWhenFinished: Infinity },
  normal: { never: false, holdAfterMs: 0, voicedMs: 400, wordsWithVoice: 1, words: 2, wordsWhenFinished: 1 },
  high: { never: false, holdAfterMs: 0, voicedMs: 200, wordsWithVoice: 0, words: 1, wordsWhenFinished: 1 },
};

export function interruptRule(sensitivity: InterruptSensitivity): InterruptRule {
  return RULES[sensitivity];
}

/** Whether what is said over the agent so far is an interruption. */
export function isInterruption(rule: InterruptRule, evidence: SpokenEvidence & { voicedMs: number }): boolean {
  if (evidence.command && !rule.never) return true;
  return evidence.realWords >= rule.words || (evidence.voicedMs >= rule.voicedMs && evidence.realWords >= rule.wordsWithVoice);
}
