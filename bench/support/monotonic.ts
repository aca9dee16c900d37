const sinceBoot = Number(process.hrtime.bigint()) / 1e6 - performance.now();

/** The machine's monotonic clock in milliseconds: equal in every process and thread, unlike `performance.now()`. */
export function monotonicMs(): number {
  return performance.now() + sinceBoot;
}
