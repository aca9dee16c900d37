import { Agent, fetch as undiciFetch } from 'undici';
import { UnsafeAddressError, type AddressGuard } from './address-guard.ts';

export interface SafeFetchOptions {
  /** An answer's body is cut off with an error beyond this many bytes, counted as they come and after decompression. */
  maxAnswerBytes: number;
  connectTimeoutMs: number;
}

/** A `fetch` for addresses that users name. */
export interface SafeFetch {
  /** As the standard's; redirects are never followed by itself. */
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
  /** Ends whatever is still open. */
  close(): Promise<void>;
}

/** An answer that is larger than is taken. */
export class AnswerTooLargeError extends Error {
  override readonly name = 'AnswerTooLargeError';
}

/** Connects only to addresses that `guard` lets through, to the very one it checked. Rejects with UnsafeAddressError otherwise. */
export function openSafeFetch(guard: AddressGuard, { maxAnswerBytes, connectTimeoutMs }: SafeFetchOptions): SafeFetch {
  const agents = new Map<string, Agent>();
  const agentFor = (url: URL): Agent => {
    const agent = agents.get(url.origin) ?? new Agent({ connect: { lookup: guard.lookupFor(url), timeout: connectTimeoutMs }, pipelining: 0 });
    agents.set(url.origin, agent);
    return agent;
  };
  return {
    async fetch(address, init = {}) {
      const url = new URL(address);
      if (!/^https?:$/.test(url.protocol) || guard.isUnsafeLiteral(url)) throw new UnsafeAddressError(`${url.host} is not a public address`);
      // The standard's types and undici's differ in name only; a dispatcher must be of the same undici.
      const answer = await undiciFetch(url, { ...init, redirect: 'manual', dispatcher: agentFor(url) } as Parameters<typeof undiciFetch>[1]);
      return limited(answer as unknown as Response, maxAnswerBytes);
    },
    async close() {
      await Promise.all([...agents.values()].map((agent) => agent.destroy()));
    },
  };
}

function limited(answer: Response, maxBytes: number): Response {
  if (answer.body === null) return answer;
  let bytes = 0;
  const counted = answer.body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) controller.error(new AnswerTooLargeError(`more than ${maxBytes} bytes`));
      else controller.enqueue(chunk);
    },
  }));
  return new Response(counted, { status: answer.status, statusText: answer.statusText, headers: answer.headers });
}

/** The `code` of an error or of what caused it: fetch wraps what happened to the connection. Empty: none. */
export function faultCodeOf(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code } = at as { code?: unknown };
    if (typeof code === 'string') return code;
  }
  return '';
}
