import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** What a client shows to enter a session. */
export type Credential = { kind: 'secret' | 'resume'; value: string };

export type Verdict = { kind: 'joined' | 'resumed' } | { kind: 'refused'; reason: string };

const RESUME_TOKEN_BYTES = 32;

/** One session's door: a single-use client secret, then a resume token that is replaced at every entry. Knows hashes only. */
export class Admission {
  readonly #secretHash: Buffer;
  #secretUsed = false;
  #resumeHash: Buffer | undefined;

  /** `secretHash`: SHA-256 of the client secret, hex. Throws when it is not that. */
  constructor(secretHash: string) {
    this.#secretHash = Buffer.from(secretHash, 'hex');
    if (this.#secretHash.length !== 32) throw new Error('clientSecretHash must be a SHA-256 in hex (64 digits).');
  }

  /** Decides on a credential; the right one is spent by it. */
  enter(credential: Credential): Verdict {
    const shown = createHash('sha256').update(credential.value).digest();
    if (credential.kind === 'resume') return this.#resume(shown);
    if (!timingSafeEqual(shown, this.#secretHash)) return { kind: 'refused', reason: 'wrong client secret' };
    if (this.#secretUsed) return { kind: 'refused', reason: 'client secret already used; resume with the resume_token' };
    this.#secretUsed = true;
    return { kind: 'joined' };
  }

  /** A fresh resume token; the one before it is worth nothing from now on. */
  renewResumeToken(): string {
    const token = randomBytes(RESUME_TOKEN_BYTES).toString('base64url');
    this.#resumeHash = createHash('sha256').update(token).digest();
    return token;
  }

  #resume(shown: Buffer): Verdict {
    if (!this.#resumeHash || !timingSafeEqual(shown, this.#resumeHash)) return { kind: 'refused', reason: 'wrong or spent resume token' };
    this.#resumeHash = undefined;
    return { kind: 'resumed' };
  }
}

/** The credential among the offered subprotocols (`secret.<value>` or `resume.<token>`), if there is one. */
export function offeredCredential(protocols: Iterable<string>): Credential | undefined {
  for (const protocol of protocols) {
    const [kind, value] = splitOnce(protocol);
    if ((kind === 'secret' || kind === 'resume') && value !== '') return { kind, value };
  }
  return undefined;
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Whether a page of `origin` may open a session at `host` (its Host header): a page of the same host always (ports may
 * differ: a worker has its own), others when listed. No Origin means no browser, which the list is not about.
 */
export function originAllowed(origin: string | undefined, host: string | undefined, allowed: readonly string[]): boolean {
  if (origin === undefined || allowed.includes(origin)) return true;
  const page = hostname(origin);
  const here = host === undefined ? undefined : hostname(`http://${host}`);
  if (page === undefined || here === undefined) return false;
  return page === here || (LOOPBACK.has(page) && LOOPBACK.has(here));
}

function hostname(url: string): string | undefined {
  return URL.parse(url)?.hostname || undefined;
}

function splitOnce(protocol: string): [string, string] {
  const dot = protocol.indexOf('.');
  return dot < 0 ? [protocol, ''] : [protocol.slice(0, dot), protocol.slice(dot + 1)];
}
