/** Digest authentication as a client (RFC 3261 section 22 with the algorithms of RFC 8760). */
import { createHash } from 'node:crypto';
import { latin1, type OutHeader } from '../message/build.ts';
import type { Headers } from '../message/headers.ts';
import { splitList } from '../message/lexer.ts';

export interface Credentials {
  readonly username: string;
  readonly password: string;
  /** Challenges of other realms are not answered. */
  readonly realm?: string;
}

export interface Challenge {
  readonly realm: string;
  readonly nonce: string;
  readonly algorithm: Algorithm;
  /** As the server wrote it; absent: it named none. */
  readonly algorithmText: string | undefined;
  readonly opaque: string | undefined;
  /** False: a server of RFC 2069. */
  readonly qop: boolean;
  readonly stale: boolean;
}

type Algorithm = 'MD5' | 'SHA-256' | 'SHA-512-256';

const HASHES: Record<Algorithm, string> = { MD5: 'md5', 'SHA-256': 'sha256', 'SHA-512-256': 'sha512-256' };
/** Strongest last. */
const RANKS: readonly string[] = ['MD5', 'SHA-256', 'SHA-512-256'];
const ANSWERS = { 'www-authenticate': 'Authorization', 'proxy-authenticate': 'Proxy-Authorization' } as const;
type ChallengeHeader = keyof typeof ANSWERS;
const CNONCE_OCTETS = 8;

/** The Digest challenges in these header values that we can answer, in their order; others are left out. */
export function parseChallenges(values: readonly string[]): Challenge[] {
  const challenges: Map<string, string>[] = [];
  for (const item of values.flatMap(splitList)) {
    const scheme = /^([A-Za-z0-9-]+)[ \t]+(.*)$/s.exec(item);
    if (scheme) challenges.push(new Map([['scheme', (scheme[1] ?? '').toLowerCase()]]));
    const pair = /^([A-Za-z0-9-]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|(\S*))$/s.exec(scheme?.[2] ?? item);
    if (pair) challenges.at(-1)?.set((pair[1] ?? '').toLowerCase(), pair[2]?.replace(/\\(.)/gs, '$1') ?? pair[3] ?? '');
  }
  return challenges.flatMap((fields) => readChallenge(fields) ?? []);
}

function readChallenge(fields: ReadonlyMap<string, string>): Challenge | undefined {
  const [realm, nonce, qop, algorithmText] = [fields.get('realm'), fields.get('nonce'), fields.get('qop'), fields.get('algorithm')];
  const algorithm = (algorithmText ?? 'MD5').toUpperCase();
  if (fields.get('scheme') !== 'digest' || realm === undefined || nonce === undefined || !isKnown(algorithm)) return undefined;
  const offersAuth = qop?.split(',').some((one) => one.trim().toLowerCase() === 'auth') ?? false;
  if (qop !== undefined && qop !== '' && !offersAuth) return undefined;
  return { realm, nonce, algorithm, algorithmText, opaque: fields.get('opaque'), qop: offersAuth, stale: fields.get('stale')?.toLowerCase() === 'true' };
}

function isKnown(algorithm: string): algorithm is Algorithm {
  return RANKS.includes(algorithm);
}

/** The value of Authorization or Proxy-Authorization that answers a challenge. */
export function digestAnswer(challenge: Challenge, credentials: Credentials, request: { method: string; uri: string; cnonce: string; count: number }): string {
  const { realm, nonce, opaque, algorithmText, qop } = challenge;
  const hash = (text: string): string => createHash(HASHES[challenge.algorithm]).update(text, 'latin1').digest('hex');
  const username = latin1(credentials.username);
  const count = request.count.toString(16).padStart(8, '0');
  const secret = hash(`${username}:${realm}:${latin1(credentials.password)}`);
  const what = hash(`${request.method}:${request.uri}`);
  const response = hash(qop ? `${secret}:${nonce}:${count}:${request.cnonce}:auth:${what}` : `${secret}:${nonce}:${what}`);
  const fields = [
    `username=${quoted(username)}`, `realm=${quoted(realm)}`, `nonce=${quoted(nonce)}`, `uri=${quoted(request.uri)}`, `response="${response}"`,
    ...(algorithmText === undefined ? [] : [`algorithm=${challenge.algorithm}`]),
    ...(qop ? [`cnonce="${request.cnonce}"`, 'qop=auth', `nc=${count}`] : []),
    ...(opaque === undefined ? [] : [`opaque=${quoted(opaque)}`]),
  ];
  return `Digest ${fields.join(', ')}`;
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

/** One user's answers to a peer; counts how often each nonce was used (`nc`). */
export class DigestClient {
  readonly #credentials: Credentials;
  readonly #random: (octets: number) => string;
  readonly #counts = new Map<string, number>();

  constructor(credentials: Credentials, random: (octets: number) => string) {
    this.#credentials = credentials;
    this.#random = random;
  }

  /** For one request and its repetitions. */
  attempt(): DigestAttempt {
    return new DigestAttempt(this.#credentials.realm, (challenge, method, uri) => {
      const count = (this.#counts.get(challenge.nonce) ?? 0) + 1;
      this.#counts.set(challenge.nonce, count);
      return digestAnswer(challenge, this.#credentials, { method, uri, cnonce: this.#random(CNONCE_OCTETS), count });
    });
  }
}

type Answer = (challenge: Challenge, method: string, uri: string) => string;

/** What a request has been challenged with: each realm of the server and of the proxies once, and once more when its nonce was stale. */
export class DigestAttempt {
  readonly #realm: string | undefined;
  readonly #answer: Answer;
  readonly #known = new Map<string, { header: ChallengeHeader; challenge: Challenge; stale: boolean }>();

  constructor(realm: string | undefined, answer: Answer) {
    this.#realm = realm;
    this.#answer = answer;
  }

  /** The headers with which the request is sent again; undefined: the peer does not take our credentials. */
  answer(response: { readonly status: number; readonly headers: Headers }, method: string, uri: string): OutHeader[] | undefined {
    if (response.status !== 401 && response.status !== 407) return undefined;
    const header: ChallengeHeader = response.status === 407 ? 'proxy-authenticate' : 'www-authenticate';
    let fresh = false;
    for (const challenge of strongest(parseChallenges(response.headers.all(header)), this.#realm)) {
      const key = `${header} ${challenge.realm}`;
      const before = this.#known.get(key);
      if (before !== undefined && (before.stale || !challenge.stale)) return undefined;
      this.#known.set(key, { header, challenge, stale: before !== undefined });
      fresh = true;
    }
    if (!fresh) return undefined;
    return [...this.#known.values()].map((known) => [ANSWERS[known.header], this.#answer(known.challenge, method, uri)]);
  }
}

/** Of each realm the challenge with the best algorithm. */
function strongest(challenges: readonly Challenge[], realm: string | undefined): Challenge[] {
  const best = new Map<string, Challenge>();
  for (const challenge of challenges) {
    if (realm !== undefined && challenge.realm !== realm) continue;
    const other = best.get(challenge.realm);
    if (other === undefined || RANKS.indexOf(challenge.algorithm) > RANKS.indexOf(other.algorithm)) best.set(challenge.realm, challenge);
  }
  return [...best.values()];
}
