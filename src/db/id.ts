import { randomBytes } from 'node:crypto';

const RANDOM_BITS = 48n;
let last = 0n;

/**
 * A new id: 24 lowercase hex digits, 6 bytes of milliseconds and 6 random ones, so that ids sort by creation; those
 * made in the same millisecond count upwards.
 */
export function newId(nowMs: number = Date.now()): string {
  const fresh = (BigInt(nowMs) << RANDOM_BITS) | BigInt(`0x${randomBytes(6).toString('hex')}`);
  const sameMoment = fresh >> RANDOM_BITS <= last >> RANDOM_BITS;
  last = sameMoment ? last + 1n : fresh;
  return last.toString(16).padStart(24, '0');
}
