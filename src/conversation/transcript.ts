import type { TranscriptItem } from '../calls/worker-protocol.ts';

/** The call as it was heard, in order: what the history of the model is made of and what the API shows. */
export class Transcript {
  readonly #items: TranscriptItem[] = [];
  readonly #onItem: (item: TranscriptItem) => void;

  /** `onItem` gets each item when it is added and, with the same position, when it is corrected. */
  constructor(onItem: (item: TranscriptItem) => void) {
    this.#onItem = onItem;
  }

  get items(): readonly TranscriptItem[] {
    return this.#items;
  }

  add(item: Omit<TranscriptItem, 'position'>): number {
    const position = this.#items.length;
    const added = { position, ...item };
    this.#items.push(added);
    this.#onItem(added);
    return position;
  }

  /** Replaces the item at `position`. Throws RangeError when there is none. */
  correct(position: number, item: Omit<TranscriptItem, 'position'>): void {
    if (!this.#items[position]) throw new RangeError(`transcript: no item at position ${position}`);
    const corrected = { position, ...item };
    this.#items[position] = corrected;
    this.#onItem(corrected);
  }
}
