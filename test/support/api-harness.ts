import { PRICE_BOOK } from '../../config/price-book.ts';
import type { App } from '../../src/api/app-type.ts';
import { SCOPES, type Scope } from '../../src/api/scopes.ts';
import { buildApp } from '../../src/app.ts';
import { newId } from '../../src/db/id.ts';
import { insertAccount } from '../../src/resources/accounts/store.ts';
import { makeApiKey } from '../../src/resources/api-keys/actions.ts';
import { loadPriceBook } from '../../src/resources/billing/prices.ts';
import { testContext, type HarnessOptions, type TestContext } from './test-context.ts';

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | number | undefined>;
  // oxlint-disable-next-line typescript/no-explicit-any -- whatever JSON came: the tests say what it must be
  body: any;
}

/** An account with a key of each mode. */
export interface TestAccount { id: string; live: string; test: string }

export interface ApiHarness extends TestContext {
  app: App;
  account: TestAccount;
  newAccount(): Promise<TestAccount>;
  newKey(account: TestAccount, scopes: Scope[], livemode?: boolean): Promise<string>;
  /** One request with the account's live key; `key: null` sends none. */
  call(method: 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'PUT' | 'HEAD', url: string, options?: { key?: string | null; body?: unknown; headers?: Record<string, string>; raw?: string }): Promise<Answer>;
  close(): Promise<void>;
}

/** The whole HTTP side on a real PostgreSQL; only the calls are fakes. */
export async function startApiHarness(options: HarnessOptions = {}): Promise<ApiHarness> {
  const { close, ...parts } = await testContext(options);
  const { context, clock } = parts;
  const { db, keyring } = context;
  await loadPriceBook(db, PRICE_BOOK, clock.now());
  const app = await buildApp(context, options.extensions ?? []);
  const newKey: ApiHarness['newKey'] = async (account, scopes, livemode = true) =>
    (await makeApiKey(db, keyring, { accountId: account.id, livemode, name: 'a key', scopes }, clock.now())).secret;
  const newAccount = async (): Promise<TestAccount> => {
    const account = { id: newId(), live: '', test: '' };
    await insertAccount(db, { id: account.id, name: 'An account', createdAt: new Date(clock.now()) });
    return { ...account, live: await newKey(account, [...SCOPES]), test: await newKey(account, [...SCOPES], false) };
  };
  const account = await newAccount();
  return {
    ...parts, app, account, newAccount, newKey,
    async call(method, url, { key = account.live, body, headers = {}, raw } = {}) {
      const answer = await app.inject({
        method, url,
        headers: { ...(key === null ? {} : { authorization: `Bearer ${key}` }), ...(body === undefined && raw === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...(raw === undefined ? {} : { payload: raw }), ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
      });
      const isJson = String(answer.headers['content-type'] ?? '').includes('json');
      return { status: answer.statusCode, headers: answer.headers, body: isJson && answer.body !== '' ? JSON.parse(answer.body) : answer.body };
    },
    async close() {
      await app.close();
      await close();
    },
  };
}
