interface Price { component: string; model: string; unit: string; price_micros: number }

/** The price book as it holds now, asked by model: its own lines, else those of `vendor/*`, else those of `*`. */
export class PricesInForce {
  readonly #lines: ReadonlyMap<string, Price[]>;

  constructor(prices: readonly Price[]) {
    this.#lines = Map.groupBy(prices, ({ component, model }) => `${component} ${model}`);
  }

  of(component: string, model: string): Price[] {
    for (const named of [model, `${model.split('/', 1)[0]}/*`, '*']) {
      const lines = this.#lines.get(`${component} ${named}`);
      if (lines) return lines;
    }
    return [];
  }
}
