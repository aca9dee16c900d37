import { turnWords } from './word-lists.ts';

/** Words of a transcript for comparison: lower case, without punctuation. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().replaceAll('’', '\'').match(/[\p{L}\p{N}]+(?:['-][\p{L}\p{N}]+)*/gu) ?? [];
}

/** What the caller's words mean to an agent that speaks. */
export interface SpokenEvidence {
  /** Words that are no acknowledgement. */
  realWords: number;
  /** "Stop", "wait", "no": the agent is to be silent now. */
  command: boolean;
}

export type WeighWords = (text: string) => SpokenEvidence;

/** Weighs transcripts of one language. Asked every frame about words that rarely change, it remembers the newest. */
export function wordWeigher(language: string): WeighWords {
  const { acknowledgements, phrases, commands } = turnWords(language);
  const acknowledged = new Set(acknowledgements);
  const commandSet = new Set(commands.map((command) => wordsOf(command).join(' ')));
  const longest = Math.max(1, ...commands.map((command) => wordsOf(command).length));
  const weigh = (text: string): SpokenEvidence => {
    let line = ` ${wordsOf(text).join(' ')} `;
    const opening = line.trim().split(' ').slice(0, longest);
    const command = opening.some((_, index) => commandSet.has(opening.slice(0, index + 1).join(' ')));
    for (const phrase of phrases) line = line.replaceAll(` ${phrase} `, ' ');
    const realWords = line.split(' ').filter((word) => word !== '' && !acknowledged.has(word)).length;
    return { realWords, command };
  };
  let newest = '';
  let evidence = weigh(newest);
  return (text) => {
    if (text !== newest) evidence = weigh(text);
    newest = text;
    return evidence;
  };
}
