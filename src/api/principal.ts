import type { Scope } from './scopes.ts';

/** Who asks: an API key, or somebody signed in on the console. */
export interface Principal {
  kind: 'api_key' | 'session';
  accountId: string;
  /** Sees and makes objects of this mode only. */
  livemode: boolean;
  scopes: ReadonlySet<Scope>;
  /** Which rate-limit bucket it draws from. */
  bucket: string;
  /** The version it was made with. */
  serviceVersion: string;
  /** Id of the API key; absent for a session. */
  apiKeyId?: string;
  /** Who signed in; absent for an API key, and for a session opened with the printed address. */
  personId?: string;
  /** May change the installation itself. */
  operator?: boolean;
}

/** What authentication needs to look up. Implemented by the api-keys and accounts resources. */
export interface PrincipalSource {
  /** The key with this secret; undefined too for what is no secret of ours. */
  byApiKey(secret: string): Promise<ApiKeyRecord | undefined>;
  /** The account of a console session that is still open. */
  bySession(digest: Buffer): Promise<{ accountId: string; personId?: string; operator: boolean } | undefined>;
}

export interface ApiKeyRecord {
  id: string;
  accountId: string;
  livemode: boolean;
  scopes: Scope[];
  serviceVersion: string;
  revokedAt: Date | undefined;
  expiresAt: Date | undefined;
}
