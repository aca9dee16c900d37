import { wordsOf } from './spoken-words.ts';

/** What a transcript says beyond words that were already answered; a text that does not repeat them comes back whole. */
export function unansweredWords(text: string, answered: string): string {
  return tokensOf(text).slice(repeatedTokens(text, answered)).join(' ');
}

/**
 * How many tokens at the beginning of `text` say `answered` again; 0 when it is another text. Recognisers rewrite what
 * they said before, so the answered words are laid over the beginning with the fewest changes, at most half of them.
 */
export function repeatedTokens(text: string, answered: string): number {
  const said = wordsOf(answered);
  if (said.length === 0) return 0;
  const distances = prefixDistances(tokensOf(text).map(comparable), said.map(comparable));
  let best = 0;
  // On a tie the longer prefix: a word heard twice is better dropped than answered twice.
  for (let length = 0; length < distances.length; length++) if ((distances[length] ?? 0) <= (distances[best] ?? 0)) best = length;
  return (distances[best] ?? 0) > said.length / 2 ? 0 : best;
}

function tokensOf(text: string): string[] {
  return text.trim().split(/\s+/).filter((token) => wordsOf(token).length > 0);
}

/** Word edit distance between `said` and each prefix of `tokens`. */
function prefixDistances(tokens: string[], said: string[]): number[] {
  let column = Array.from({ length: said.length + 1 }, (_, row) => row);
  const distances = [said.length];
  for (const token of tokens) {
    const next = [(column[0] ?? 0) + 1];
    for (const [row, word] of said.entries()) {
      const replaced = (column[row] ?? 0) + (word === token ? 0 : 1);
      next.push(Math.min(replaced, (column[row + 1] ?? 0) + 1, (next[row] ?? 0) + 1));
    }
    column = next;
    distances.push(column[said.length] ?? 0);
  }
  return distances;
}

function comparable(word: string): string {
  return wordsOf(word).join('').replaceAll(/['-]/g, '');
}
