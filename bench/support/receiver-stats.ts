import { fitGrid, type Arrival } from './statistics.ts';

const PERIOD_MS = 20;
const TIMESTAMP_STEP = 160;
/** A packet this late missed its turn at any playout of one frame's depth. */
const LATE_MS = 20;

export interface CallArrivals {
  received: number;
  lost: number;
  late: number;
  duplicated: number;
  /** Arrival minus the call's own fitted grid, ms. */
  deviationsMs: Float64Array;
}

/** What one call's receiver saw of a 20 ms PCMU or PCMA stream: storage is allocated once, for `seconds` of packets. */
export class ArrivalLog {
  readonly #at: Float64Array;
  readonly #sequence: Uint16Array;
  readonly #timestamp: Uint32Array;
  #size = 0;

  constructor(seconds: number) {
    const capacity = Math.ceil(seconds * 50 * 1.2) + 50;
    this.#at = new Float64Array(capacity);
    this.#sequence = new Uint16Array(capacity);
    this.#timestamp = new Uint32Array(capacity);
  }

  get size(): number {
    return this.#size;
  }

  clear(): void {
    this.#size = 0;
  }

  /** Packets beyond the capacity are not kept. */
  add(at: number, sequence: number, timestamp: number): void {
    if (this.#size === this.#at.length) return;
    this.#at[this.#size] = at;
    this.#sequence[this.#size] = sequence;
    this.#timestamp[this.#size] = timestamp;
    this.#size++;
  }

  summary(): CallArrivals {
    const arrivals: Arrival[] = [];
    const seen = new Set<number>();
    let lowest = 0;
    let highest = 0;
    for (let i = 0; i < this.#size; i++) {
      // Signed differences from the first packet unwrap both counters.
      const number = (((this.#sequence[i] ?? 0) - (this.#sequence[0] ?? 0)) << 16) >> 16;
      const slot = (((this.#timestamp[i] ?? 0) - (this.#timestamp[0] ?? 0)) | 0) / TIMESTAMP_STEP;
      if (seen.has(number)) continue;
      seen.add(number);
      lowest = Math.min(lowest, number);
      highest = Math.max(highest, number);
      arrivals.push({ at: this.#at[i] ?? 0, slot });
    }
    const { deviationsMs } = fitGrid(arrivals, PERIOD_MS);
    return {
      received: seen.size,
      lost: seen.size === 0 ? 0 : highest - lowest + 1 - seen.size,
      late: deviationsMs.filter((deviation) => deviation > LATE_MS).length,
      duplicated: this.#size - seen.size,
      deviationsMs,
    };
  }
}
