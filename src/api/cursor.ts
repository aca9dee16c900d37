import { timingSafeEqual } from 'node:crypto';
import type { Keyring } from './keyring.ts';

/** A place in a list: lists are sorted by time, then id, newest first. */
export interface Position {
  atMs: number;
  id: string;
}

const FORMAT = 1;
const KEY_ID = 1;
const BODY_BYTES = 22;
const MAC_BYTES = 16;

/**
 * 38 bytes as 51 characters of base64url: format, key id, milliseconds (uint64), id (12 bytes), and 16 bytes of an
 * HMAC-SHA256 over `scope` and those, so that a cursor works only in the list it came from.
 */
export function encodeCursor(keyring: Keyring, scope: string, position: Position): string {
  const body = Buffer.alloc(BODY_BYTES);
  body[0] = FORMAT;
  body[1] = KEY_ID;
  body.writeBigUInt64BE(BigInt(position.atMs), 2);
  body.write(position.id, 10, 'hex');
  return Buffer.concat([body, mac(keyring, scope, body)]).toString('base64url');
}

/** Undefined: not issued here for this list. */
export function decodeCursor(keyring: Keyring, scope: string, cursor: string): Position | undefined {
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length !== BODY_BYTES + MAC_BYTES || bytes.toString('base64url') !== cursor) return undefined;
  const body = bytes.subarray(0, BODY_BYTES);
  if (body[0] !== FORMAT || body[1] !== KEY_ID || !timingSafeEqual(bytes.subarray(BODY_BYTES), mac(keyring, scope, body))) return undefined;
  return { atMs: Number(body.readBigUInt64BE(2)), id: body.toString('hex', 10) };
}

function mac(keyring: Keyring, scope: string, body: Buffer): Buffer {
  return keyring.signCursor(Buffer.concat([Buffer.from(`v1|${scope}\0`), body])).subarray(0, MAC_BYTES);
}
