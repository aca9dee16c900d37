/** What was received of a source, as receiver reports need it (RFC 3550 A.1 and A.3). */

const MAX_DROPOUT = 3000;
const MAX_MISORDER = 100;
const CYCLE = 1 << 16;

export class Reception {
  #ssrc = -1;
  #base = 0;
  #highest = 0;
  #cycles = 0;
  #received = 0;
  /** What a packet out of range must be followed by to count as a restart. */
  #restartAt = -1;
  #expectedPrior = 0;
  #receivedPrior = 0;
  #packets = 0;
  /** Expected and received of the streams before this one. */
  #expectedBefore = 0;
  #receivedBefore = 0;

  /** SSRC heard now; -1 before the first packet. */
  get ssrc(): number {
    return this.#ssrc;
  }

  /** Packets of all streams of the session. */
  get packets(): number {
    return this.#packets;
  }

  /** Lost packets of all streams; duplicates never make it negative. */
  get lost(): number {
    return Math.max(0, this.#expectedBefore - this.#receivedBefore + this.#cumulativeLost());
  }

  get lostPct(): number {
    const expected = this.#expectedBefore + this.#expected();
    return expected === 0 ? 0 : (100 * this.lost) / expected;
  }

  packet(ssrc: number, sequence: number): void {
    this.#packets++;
    if (ssrc !== this.#ssrc) {
      this.#restart(ssrc, sequence);
      return;
    }
    const ahead = (sequence - this.#highest) & 0xffff;
    if (ahead < MAX_DROPOUT) {
      if (sequence < this.#highest) this.#cycles += CYCLE;
      this.#highest = sequence;
    } else if (ahead <= CYCLE - MAX_MISORDER) {
      if (sequence !== this.#restartAt) {
        this.#restartAt = (sequence + 1) & 0xffff;
        return;
      }
      this.#restart(ssrc, sequence);
      return;
    }
    this.#received++;
  }

  /** The report block's share; `fractionLost` (in 1/256) counts from the call before. */
  report(): { fractionLost: number; cumulativeLost: number; highestSequence: number } {
    const expected = this.#expected() - this.#expectedPrior;
    const lost = expected - (this.#received - this.#receivedPrior);
    this.#expectedPrior += expected;
    this.#receivedPrior = this.#received;
    return {
      fractionLost: expected <= 0 || lost <= 0 ? 0 : Math.min(255, Math.floor((lost * 256) / expected)),
      cumulativeLost: Math.max(-0x800000, Math.min(0x7fffff, this.#cumulativeLost())),
      highestSequence: (this.#cycles + this.#highest) >>> 0,
    };
  }

  #expected(): number {
    return this.#ssrc === -1 ? 0 : this.#cycles + this.#highest - this.#base + 1;
  }

  #cumulativeLost(): number {
    return this.#expected() - this.#received;
  }

  #restart(ssrc: number, sequence: number): void {
    this.#expectedBefore += this.#expected();
    this.#receivedBefore += this.#received;
    this.#ssrc = ssrc;
    this.#base = sequence;
    this.#highest = sequence;
    this.#cycles = 0;
    this.#received = 1;
    this.#restartAt = -1;
    this.#expectedPrior = 0;
    this.#receivedPrior = 0;
  }
}
