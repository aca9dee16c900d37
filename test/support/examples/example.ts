import type { ApiHarness } from '../api-harness.ts';

/** How to make one object of a resource, so that the tests over all routes can ask for it, for a foreign one, and for one of the other mode. */
export interface Example {
  /** Base path of its routes, such as `/v1/leads`. */
  path: string;
  /** The `code` of one that does not exist. */
  notFound: string;
  /** Makes one with this key, through the API where it can; answers its id, or the ids of a path with several parameters. */
  make(api: ApiHarness, key: string): Promise<string | Record<string, string>>;
  /** A valid body by `METHOD path`, for routes that need one. */
  bodies?: Readonly<Record<string, unknown>>;
  /** Queries that a route cannot do without, by `METHOD path`. */
  queries?: Readonly<Record<string, string>>;
}

/** Makes an object with a POST. Throws an Error when it is refused. */
export async function made(api: ApiHarness, key: string, path: string, body: unknown): Promise<string> {
  const answer = await api.call('POST', path, { key, body });
  if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return String(answer.body.id);
}
