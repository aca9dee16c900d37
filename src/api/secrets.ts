import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** API keys and other random strings that we hand out once. */

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 62^43 > 2^256. */
const RANDOM_CHARACTERS = 43;
/** 62^6 > 2^32. */
const CHECKSUM_CHARACTERS = 6;
const SHAPE = new RegExp(`^wv_(live|test)_([0-9A-Za-z]{${RANDOM_CHARACTERS}})([0-9A-Za-z]{${CHECKSUM_CHARACTERS}})$`);
/** Shown of a key in lists. */
export const KEY_PREFIX_CHARACTERS = 12;

/** `wv_live_` or `wv_test_`, 32 random bytes, and a checksum that tells typing errors without asking the database. */
export function newApiKeySecret(livemode: boolean): string {
  const start = `wv_${livemode ? 'live' : 'test'}_${base62(BigInt(`0x${randomBytes(32).toString('hex')}`), RANDOM_CHARACTERS)}`;
  return start + checksum(start);
}

/** The mode a key secret says it is for; undefined: it is no key of ours. */
export function modeOfApiKey(secret: string): 'live' | 'test' | undefined {
  const [whole, mode, , sum] = SHAPE.exec(secret) ?? [];
  if (whole === undefined || checksum(whole.slice(0, -CHECKSUM_CHARACTERS)) !== sum) return undefined;
  return mode === 'live' ? 'live' : 'test';
}

/** 32 random bytes as base64url, for tokens that live a short time. */
export function newToken(prefix = ''): string {
  return prefix + randomBytes(32).toString('base64url');
}

function checksum(text: string): string {
  return base62(BigInt(crc32(text)), CHECKSUM_CHARACTERS);
}

function base62(value: bigint, characters: number): string {
  let text = '';
  for (let rest = value; text.length < characters; rest /= 62n) text = BASE62.charAt(Number(rest % 62n)) + text;
  return text;
}
