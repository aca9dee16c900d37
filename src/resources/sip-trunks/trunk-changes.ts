/** Tells whoever keeps trunks in memory (the SIP admission list) that they have changed. After the commit, never inside. */
export class TrunkChanges {
  readonly #listeners = new Set<() => void>();

  /** The answer ends the subscription. */
  onChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
