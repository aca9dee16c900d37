import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Whether a delivery is genuine. `rawBody`: the bytes as they came, before any JSON parsing;
 * `signature`: the header X-Service-Signature; `secret`: the signing secret, whsec_…
 */
export function isGenuine(rawBody: Uint8Array, signature: string | undefined, secret: string): boolean {
  if (!/^[0-9a-f]{64}$/.test(signature ?? '')) return false;
  const expected = createHmac('sha256', secret).update(rawBody).digest();
  return timingSafeEqual(expected, Buffer.from(signature ?? '', 'hex'));
}
