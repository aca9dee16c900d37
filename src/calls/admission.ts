import ipaddr from 'ipaddr.js';

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Which source addresses may speak SIP to us: the trunks' `allowed_addresses`, in memory, asked for every packet. */
export class Admission {
  readonly #load: () => Promise<string[]>;
  #ranges: Range[] = [];
  #verdicts = new Map<string, boolean>();

  private constructor(load: () => Promise<string[]>) {
    this.#load = load;
  }

  /** `load` answers CIDR ranges. */
  static async start(load: () => Promise<string[]>): Promise<Admission> {
    const admission = new Admission(load);
    await admission.refresh();
    return admission;
  }

  /** Reads the ranges again, after a trunk changed. */
  async refresh(): Promise<void> {
    const ranges = await this.#load();
    this.#ranges = ranges.filter((range) => ipaddr.isValidCIDR(range)).map((range) => ipaddr.parseCIDR(range));
    this.#verdicts = new Map();
  }

  admits(address: string): boolean {
    const known = this.#verdicts.get(address);
    if (known !== undefined) return known;
    const verdict = this.#decide(address);
    if (this.#verdicts.size >= MAX_REMEMBERED) this.#verdicts.clear();
    this.#verdicts.set(address, verdict);
    return verdict;
  }

  #decide(address: string): boolean {
    if (!ipaddr.isValid(address)) return false;
    const source = ipaddr.process(address);
    return this.#ranges.some(([base, bits]) => base.kind() === source.kind() && source.match(base, bits));
  }
}

/** Scanners come from many addresses: remember so many verdicts, then start anew. */
const MAX_REMEMBERED = 10_000;
