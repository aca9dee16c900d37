import { asteriskPrompt, readSpeechFile, type SpeechFixture } from './speech-fixtures.ts';

const RATE = 8000;

/** One thing the caller says, and where in the microphone's file. */
export interface CallerTurn { said: string; transcript: string; pcm: Int16Array; startMs: number; endMs: number }

export interface CallerScript { microphone: Int16Array; turns: CallerTurn[] }

/** A caller made of recordings of a person: each prompt begins `afterMs` after the end of the one before. */
export function callerScript(parts: { prompt: string; afterMs: number }[], restMs: number): CallerScript {
  const turns: CallerTurn[] = [];
  let atMs = 0;
  for (const { prompt, afterMs } of parts) {
    const fixture: SpeechFixture = asteriskPrompt(prompt);
    const pcm = trimmed(readSpeechFile(fixture.path, RATE));
    const startMs = atMs + afterMs;
    atMs = startMs + (pcm.length * 1000) / RATE;
    turns.push({ said: prompt, transcript: fixture.transcript, pcm, startMs, endMs: atMs });
  }
  const microphone = new Int16Array(Math.round(((atMs + restMs) * RATE) / 1000));
  for (const { pcm, startMs } of turns) microphone.set(pcm, Math.round((startMs * RATE) / 1000));
  return { microphone, turns };
}

/** Level under which a sample is the room, not the voice. */
const ROOM_LEVEL = 400;

/** Without the silence before the first sound and after the last, so that a turn's times are those of its voice. */
function trimmed(pcm: Int16Array): Int16Array {
  const from = pcm.findIndex((sample) => Math.abs(sample) > ROOM_LEVEL);
  const to = pcm.findLastIndex((sample) => Math.abs(sample) > ROOM_LEVEL);
  return pcm.slice(Math.max(0, from), to + 1);
}
