import type { ApiHarness } from './api-harness.ts';

/** The harness as a new account sees it: tests that share one server and database do not meet. */
export async function inNewAccount(harness: ApiHarness): Promise<ApiHarness> {
  const account = await harness.newAccount();
  return {
    ...harness,
    account,
    get events() { return harness.events.filter(({ accountId }) => accountId === account.id); },
    call: (method, url, options = {}) => harness.call(method, url, { key: account.live, ...options }),
  };
}
