import { giveCredit } from '../../src/resources/billing/actions.ts';
import { newId } from '../../src/db/id.ts';
import { handleVoiceJobs } from '../../src/resources/voices/clone-run.ts';
import { cloning, SimulatedCloner } from '../../src/resources/voices/simulated-cloner.ts';
import { startApiHarness, type ApiHarness } from './api-harness.ts';
import { ScriptedCloner } from './scripted-cloner.ts';

/** What the shipped price book says of a clone. */
export const FEE_MICROS = 1_000_000;

export interface VoiceHarness { api: ApiHarness; provider: ScriptedCloner }

export interface VoiceHarnessOptions {
  /** Live providers; both, the same one, when absent. */
  configured?: readonly ('vendor_a' | 'vendor_b')[];
  /** What the account has; plenty when absent. */
  balanceMicros?: number;
  allowPrivateAddresses?: string[];
}

/** The API with a scripted provider of cloned voices, and an account that can pay. */
export async function startVoiceHarness({ configured = ['vendor_a', 'vendor_b'], balanceMicros = 100 * FEE_MICROS, allowPrivateAddresses = [] }: VoiceHarnessOptions = {}): Promise<VoiceHarness> {
  const provider = new ScriptedCloner();
  // An embedded voice "speaks" its own name and the text.
  const simulated = new SimulatedCloner((text, voice) => Promise.resolve(Buffer.from(`${voice}: ${text}`)));
  const live = Object.fromEntries(configured.map((name) => [name, provider]));
  const api = await startApiHarness({ cloning: cloning(simulated, live), allowPrivateAddresses });
  handleVoiceJobs(api.context);
  if (balanceMicros > 0) await creditAccount(api, balanceMicros);
  return { api, provider };
}

export async function creditAccount(api: ApiHarness, amountMicros: number, accountId = api.account.id): Promise<void> {
  await giveCredit(api.context, { account_id: accountId, amount_micros: amountMicros, note: 'for a test' }, newId());
}

export interface CloneUsage { amount_micros: number; livemode: boolean; model: string; api_key_id: string | null }

/** Usage rows of an account's clones, oldest first. */
export function usageOf({ context: { db }, account }: ApiHarness, accountId = account.id): Promise<CloneUsage[]> {
  return db.query<CloneUsage>('SELECT amount_micros, livemode, model, api_key_id FROM usage_record WHERE component = \'voice_clone\' AND account_id = $1 ORDER BY id', [accountId]);
}
