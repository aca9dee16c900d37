import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** First byte of everything sealed: which master key sealed it. */
const KEY_ID = 1;

/** What is derived from the master key; each use has a key of its own (HKDF, RFC 5869). */
export interface Keyring {
  /** HMAC-SHA256 of a secret: what the database holds instead of it. */
  digest(secret: string): Buffer;
  /** HMAC-SHA256 that proves a cursor is ours. */
  signCursor(data: string | Buffer): Buffer;
  /** HMAC-SHA256 that binds a CSRF token to its session. */
  signSession(data: string | Buffer): Buffer;
  /** AES-256-GCM; `place` (table:column:row) is bound in, so that a sealed value opens only where it was put. */
  seal(plain: string, place: string): Buffer;
  /** Throws when the value was changed, moved or sealed with another master key. */
  unseal(sealed: Buffer, place: string): string;
}

export function makeKeyring(masterKey: Buffer): Keyring {
  const derive = (label: string): Buffer => Buffer.from(hkdfSync('sha256', masterKey, Buffer.alloc(0), `wirevoice:${label}`, KEY_BYTES));
  const keys = { pepper: derive('api-key-pepper'), cursor: derive('cursor'), session: derive('session'), atRest: derive('at-rest') };
  const sign = (bytes: Buffer) => {
    // Prepared once: from bytes it would be prepared for every signature, at three times the cost.
    const key = createSecretKey(bytes);
    return (data: string | Buffer): Buffer => createHmac('sha256', key).update(data).digest();
  };
  return { digest: sign(keys.pepper), signCursor: sign(keys.cursor), signSession: sign(keys.session), ...sealing(keys.atRest) };
}

/** The master key an operator gave (64 hex digits or base64), or the one in `dataDir/master.key`, made with mode 0600 when absent. */
export function readMasterKey(given: string, dataDir: string): Buffer {
  if (given !== '') return decodeKey(given, 'MASTER_KEY');
  const file = join(dataDir, 'master.key');
  if (!existsSync(file)) {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    const unfinished = `${file}.${process.pid}`;
    writeFileSync(unfinished, `${randomBytes(KEY_BYTES).toString('hex')}\n`, { mode: 0o600, flush: true });
    try {
      // A link never replaces a key that another process made meanwhile.
      linkSync(unfinished, file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      rmSync(unfinished);
    }
  }
  return decodeKey(readFileSync(file, 'utf8').trim(), file);
}

function decodeKey(text: string, from: string): Buffer {
  const key = Buffer.from(text, /^[0-9a-fA-F]{64}$/.test(text) ? 'hex' : 'base64');
  if (key.length !== KEY_BYTES) throw new Error(`${from} does not hold a master key of 32 bytes. Restore it from a backup: stored secrets and API keys depend on it.`);
  return key;
}

function sealing(key: Buffer): Pick<Keyring, 'seal' | 'unseal'> {
  return {
    seal(plain, place) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(place));
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(KEY_ID), nonce, cipher.getAuthTag(), body]);
    },
    unseal(sealed, place) {
      if (sealed[0] !== KEY_ID || sealed.length < 1 + NONCE_BYTES + TAG_BYTES) throw new Error(`The value at ${place} was not sealed by this service.`);
      const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
      const tag = sealed.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(place)).setAuthTag(tag);
      return Buffer.concat([decipher.update(sealed.subarray(1 + NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8');
    },
  };
}
