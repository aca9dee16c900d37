import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

/** 32 MiB for each guess, and 0.16 s of one 2.5 GHz core. */
const COST = { N: 32_768, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };
const KEY_BYTES = 32;
const SALT_BYTES = 16;
/** Hashing runs beside calls: no more than these at once, however many sign in. */
const AT_ONCE = 2;

let running = 0;
const waiting: (() => void)[] = [];

/** What the database holds of a password: `scrypt$N$r$p$salt$hash`. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const key = await derive(password, salt, COST);
  return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64url'), key.toString('base64url')].join('$');
}

/** Whether it is this password. Without a stored one it takes the same time, and is not. */
export async function isPassword(password: string, stored: string | undefined): Promise<boolean> {
  const [, N, r, p, salt = '', expected = ''] = (stored ?? UNKNOWN).split('$');
  const key = await derive(password, Buffer.from(salt, 'base64url'), { ...COST, N: Number(N), r: Number(r), p: Number(p) });
  const right = Buffer.from(expected, 'base64url');
  return key.length === right.length && timingSafeEqual(key, right) && stored !== undefined;
}

/** Belongs to nobody. */
const UNKNOWN = ['scrypt', COST.N, COST.r, COST.p, Buffer.alloc(SALT_BYTES).toString('base64url'), Buffer.alloc(KEY_BYTES).toString('base64url')].join('$');

async function derive(password: string, salt: Buffer, cost: typeof COST): Promise<Buffer> {
  if (running >= AT_ONCE) await new Promise<void>((turn) => waiting.push(turn));
  running++;
  try {
    return await new Promise((resolve, reject) => scrypt(password.normalize('NFKC'), salt, KEY_BYTES, cost, (error, key) => (error ? reject(error) : resolve(key))));
  } finally {
    running--;
    waiting.shift()?.();
  }
}
