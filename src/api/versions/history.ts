import { ApiError } from '../errors.ts';

/** A behaviour that changed on a day: how requests and answers of before it are turned into those of after it, and back. */
export interface VersionChange {
  /** The first version that has the new behaviour. */
  version: string;
  /** For the reference: what changed, and for whom. */
  description: string;
  /** `METHOD /v1/path/:id` of the routes it concerns. */
  routes: readonly string[];
  /** Turns a body as it was sent before into one as it is sent now. */
  upgradeRequest?: (body: Record<string, unknown>) => Record<string, unknown>;
  /** Turns an answer as it is now into one as it was before. */
  downgradeAnswer?: (body: Record<string, unknown>) => Record<string, unknown>;
  /** The same for a webhook payload. */
  downgradeEvent?: (payload: Record<string, unknown>) => Record<string, unknown>;
}

export const FIRST_VERSION = '2026-09-01';

/** Changes that were published, newest first. There is one version so far. */
export const PUBLISHED_CHANGES: readonly VersionChange[] = [];

/** Which versions there are, and what lies between them. */
export class VersionHistory {
  readonly #changes: readonly VersionChange[];
  readonly current: string;
  /** Newest first. */
  readonly versions: readonly string[];

  constructor(changes: readonly VersionChange[] = PUBLISHED_CHANGES) {
    this.#changes = changes.toSorted((a, b) => (a.version < b.version ? 1 : -1));
    this.versions = [...new Set([...this.#changes.map(({ version }) => version), FIRST_VERSION])];
    this.current = this.versions[0] ?? FIRST_VERSION;
  }

  /** The version for one request: its header, else what its key was made with. Throws ApiError `invalid_version`. */
  versionFor(header: string | string[] | undefined, pinned: string): string {
    if (header === undefined) return pinned;
    const version = this.versions.find((known) => known === header);
    if (version === undefined) throw new ApiError('invalid_version', `Service-Version must be one of ${this.versions.join(', ')}.`, { param: 'Service-Version' });
    return version;
  }

  /** Oldest change first: each takes what the one before it made. */
  upgradeRequest(version: string, route: string, body: Record<string, unknown>): Record<string, unknown> {
    return this.#since(version, route).reverse().reduce((upgraded, { upgradeRequest }) => upgradeRequest?.(upgraded) ?? upgraded, body);
  }

  /** Newest change first. */
  downgradeAnswer(version: string, route: string, body: Record<string, unknown>): Record<string, unknown> {
    return this.#since(version, route).reduce((downgraded, { downgradeAnswer }) => downgradeAnswer?.(downgraded) ?? downgraded, body);
  }

  /** Newest change first. */
  downgradeEvent(version: string, payload: Record<string, unknown>): Record<string, unknown> {
    return this.#since(version).reduce((downgraded, { downgradeEvent }) => downgradeEvent?.(downgraded) ?? downgraded, payload);
  }

  /** Whether a request of this version, on this route, is answered as it is now. */
  isCurrent(version: string, route: string): boolean {
    return version === this.current || this.#since(version, route).length === 0;
  }

  #since(version: string, route?: string): VersionChange[] {
    return this.#changes.filter((change) => change.version > version && (route === undefined || change.routes.includes(route)));
  }
}

/** What this release speaks. */
export const PUBLISHED_VERSIONS = new VersionHistory();
