import { EngineError, type Speech, type TtsEngine } from '../engines/engine.ts';

type SpeakOptions = Parameters<TtsEngine['speak']>[1];

/** Speaks text as it comes; when the voice engine fails and says that trying again can help, once more from the first text not spoken. */
export async function* retryingSpeech(tts: TtsEngine, text: AsyncIterable<string>, options: SpeakOptions): AsyncGenerator<Speech, void, undefined> {
  const feed = new TextFeed(text);
  for (let attempt = 1; ; attempt++) {
    try {
      for await (const piece of tts.speak(feed.unspoken(), options)) {
        feed.spoke(piece.text);
        yield piece;
      }
      return;
    } catch (error) {
      const again = attempt === 1 && error instanceof EngineError && error.retry && !options.signal.aborted;
      if (!again) throw error;
    }
  }
}

/** A stream of text that can be read again from the first part that was not spoken. */
class TextFeed {
  readonly #source: AsyncIterator<string>;
  readonly #texts: string[] = [];
  #pulling: Promise<void> | undefined;
  #ended = false;
  #spokenLetters = 0;

  constructor(source: AsyncIterable<string>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  spoke(text: string): void {
    this.#spokenLetters += letters(text);
  }

  async *unspoken(): AsyncGenerator<string, void, undefined> {
    for (let index = this.#firstUnspoken(); ; index++) {
      while (index >= this.#texts.length) {
        if (this.#ended) return;
        // One pull at a time, kept whoever asked: a reader that was given up may still be waiting.
        this.#pulling ??= this.#pull();
        await this.#pulling;
      }
      yield this.#texts[index] as string;
    }
  }

  async #pull(): Promise<void> {
    try {
      const next = await this.#source.next();
      if (next.done) this.#ended = true;
      else this.#texts.push(next.value);
    } finally {
      this.#pulling = undefined;
    }
  }

  #firstUnspoken(): number {
    let sum = 0;
    const index = this.#texts.findIndex((text) => (sum += letters(text)) > this.#spokenLetters);
    return index < 0 ? this.#texts.length : index;
  }
}

/** Engines may change spaces and punctuation in a piece's text; letters and digits they keep. */
function letters(text: string): number {
  return text.match(/[\p{L}\p{N}]/gu)?.length ?? 0;
}
