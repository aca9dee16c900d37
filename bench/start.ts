import { judged, type Report } from './support/figures.ts';
import type { BenchOptions } from './support/options.ts';
import { RunningGateway, withDataDir } from './support/running-gateway.ts';
import { largest } from './support/statistics.ts';

const FIRST_S = 8;
const LATER_S = 3;

/** From `npm start` to /readyz, models and database included: on an empty data directory, and on one that was used before. */
export async function start(options: BenchOptions): Promise<Report> {
  const later = options.quick ? 1 : 3;
  return withDataDir(async (dataDir) => {
    const first = await startOnce(dataDir);
    const others: number[] = [];
    for (let i = 0; i < later; i++) others.push(await startOnce(dataDir));
    const figures = [
      judged('first start to ready', first, 's', FIRST_S),
      judged(`later start to ready, slowest of ${later}`, largest(others), 's', LATER_S),
    ];
    return { bench: 'start', figures };
  });
}

async function startOnce(dataDir: string): Promise<number> {
  const gateway = await RunningGateway.start(dataDir);
  await gateway.stop();
  return gateway.readyAfterMs / 1000;
}
