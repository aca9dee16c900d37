import type { Keyring } from './api/keyring.ts';
import { SCOPES } from './api/scopes.ts';
import type { AppContext } from './context.ts';
import { createSignInToken, ensureFirstAccount } from './resources/accounts/actions.ts';
import { createAgent } from './resources/agents/actions.ts';
import { makeApiKey } from './resources/api-keys/actions.ts';
import { createPhoneNumber } from './resources/phone-numbers/actions.ts';
import { createTrunk } from './resources/sip-trunks/actions.ts';
import { DEMO_AGENT } from './demo-agent.ts';
import type { Transaction } from './db/database.ts';

/** Numbers of the demo agents, from the range reserved for examples. */
export const DEMO_NUMBERS = { live: '+15550100001', test: '+15550100002' } as const;
const LOOPBACK = ['127.0.0.0/8', '::1/128'];

export interface FirstStart {
  accountId: string;
  /** Shown this once; undefined on later starts. */
  apiKeys: { live: string; test: string } | undefined;
  /** Single use, 15 minutes: opens a session for /talk. A fresh one at every start. */
  signInUrl: string;
  /** Users of the SIP addresses to call. */
  numbers: typeof DEMO_NUMBERS;
}

type FirstStartContext = Pick<AppContext, 'db' | 'clock' | 'engines' | 'guard' | 'trunkChanges'> & { keyring: Keyring; options: { publicUrl: string } };

/** Makes what a new installation needs, all or nothing; on an existing one finds it. Answers what to print. */
export async function firstStart(context: FirstStartContext): Promise<FirstStart> {
  const nowMs = context.clock.now();
  const made = await context.db.transaction(async (transaction) => {
    const { accountId, isNew } = await ensureFirstAccount(transaction, 'Wirevoice', nowMs);
    return { accountId, apiKeys: isNew ? await furnish(context, transaction, accountId) : undefined };
  });
  const token = await createSignInToken(context.db, context.keyring, made.accountId, nowMs);
  return { ...made, signInUrl: `${context.options.publicUrl}/talk/sign-in?token=${token}`, numbers: DEMO_NUMBERS };
}

async function furnish(context: FirstStartContext, transaction: Transaction, accountId: string): Promise<{ live: string; test: string }> {
  // The resources' own actions, inside this transaction.
  const inside = { ...context, db: { ...context.db, query: transaction.query, transaction: <Result>(work: (inner: Transaction) => Promise<Result>) => work(transaction) } };
  const secrets = { live: '', test: '' };
  for (const mode of ['live', 'test'] as const) {
    const owner = { accountId, livemode: mode === 'live' };
    const key = await makeApiKey(transaction, context.keyring, { ...owner, name: `First ${mode} key`, scopes: [...SCOPES] }, context.clock.now());
    secrets[mode] = key.secret;
    const trunk = await createTrunk(inside, owner, { name: 'local', allowed_addresses: LOOPBACK });
    const agent = await createAgent(inside, owner, DEMO_AGENT);
    await createPhoneNumber(inside, owner, { phone_number: DEMO_NUMBERS[mode], label: 'Demo', sip_trunk_id: trunk.id, agent_id: agent.id });
  }
  return secrets;
}
