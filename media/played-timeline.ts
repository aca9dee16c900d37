/** A stretch of speech that went out without a gap: where it began on the played clock and in the speech, both in samples. */
interface Stretch { playedFrom: number; position: number; length: number }

/**
 * Joins two clocks of one played item: samples played (speech, gaps and holds alike) and the position in its speech.
 * All figures are samples. Going on without a gap allocates nothing.
 */
export class PlayedTimeline {
  readonly #stretches: Stretch[] = [];
  #played = 0;

  /** Samples handed out since the item's first one. */
  get played(): number {
    return this.#played;
  }

  /** `length` samples of speech, starting at `position`, were handed out. */
  speech(position: number, length: number): void {
    const last = this.#stretches.at(-1);
    if (last && last.playedFrom + last.length === this.#played && last.position + last.length === position) last.length += length;
    else this.#stretches.push({ playedFrom: this.#played, position, length });
    this.#played += length;
  }

  /** Silence was handed out: an underrun or a hold. */
  silence(length: number): void {
    this.#played += length;
  }

  /** The position in the speech that had been reached once `played` samples were heard. */
  positionAt(played: number): number {
    for (let index = this.#stretches.length - 1; index >= 0; index--) {
      const stretch = this.#stretches[index];
      if (stretch && stretch.playedFrom < played) return stretch.position + Math.min(played - stretch.playedFrom, stretch.length);
    }
    return this.#stretches[0]?.position ?? 0;
  }

  /** Forgets what was handed out after `played`: the far end dropped it unheard. */
  cutAt(played: number): void {
    if (played >= this.#played) return;
    this.#played = Math.max(0, played);
    for (let last = this.#stretches.at(-1); last; last = this.#stretches.at(-1)) {
      if (last.playedFrom < this.#played) {
        last.length = Math.min(last.length, this.#played - last.playedFrom);
        return;
      }
      this.#stretches.pop();
    }
  }
}
