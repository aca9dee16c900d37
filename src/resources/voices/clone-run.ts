import type { AppContext } from '../../context.ts';
import { chargeOnce } from '../billing/actions.ts';
import { CloningError, type CloneRequest, type VoiceCloner } from './cloning.ts';
import { askProvider, CLONE_LIMIT_MS, PROVIDER_LIMIT_MS, unavailable } from './provider-call.ts';
import { abandonVoice, beginCleaning, completeVoice, deleteUnmadeVoice, findAnyVoice, type VoiceRow } from './store.ts';
import { CLONE_MODELS, type VoiceProvider } from './voice-provider.ts';

export const CLEAN_UP_JOB = 'voice.clean_up';
/** By then whoever made the clone has ended, one way or the other. */
const CLEAN_UP_AFTER_MS = 600_000;

type RunContext = Pick<AppContext, 'db' | 'clock' | 'log' | 'jobs'>;

/** A voice in the making, and who makes it. */
export interface CloneRun {
  accountId: string;
  livemode: boolean;
  apiKeyId: string | undefined;
  provider: VoiceProvider;
  cloner: VoiceCloner;
  feeMicros: number;
  /** An earlier run of the same request may have made the clone. */
  again: boolean;
  request: CloneRequest;
}

/** Sees to it that a clone whose maker dies is found and deleted. Before its row is written. */
export function watchOver({ db, clock, jobs }: RunContext, id: string): Promise<void> {
  return jobs.enqueue(db, { kind: CLEAN_UP_JOB, name: id, payload: { voice_id: id }, runAt: new Date(clock.now() + CLEAN_UP_AFTER_MS) });
}

/** Gives up a voice of which the provider has nothing. */
export async function giveUp({ db, jobs }: RunContext, id: string): Promise<void> {
  await deleteUnmadeVoice(db, id);
  await jobs.cancel(db, CLEAN_UP_JOB, id);
}

/**
 * Has the clone made, then charges for it and keeps it, both or neither: a clone that cannot be paid for or kept is deleted again.
 * Throws ApiError `cloning_unavailable` (nothing was charged), `insufficient_credits`.
 */
export async function runClone(context: RunContext, run: CloneRun): Promise<VoiceRow> {
  const { reference: id } = run.request;
  const providerVoiceId = await makeClone(context, run);
  try {
    return await keep(context, run, providerVoiceId);
  } catch (error) {
    // The commit may have gone through although its answer was lost.
    const row = await findAnyVoice(context.db, id);
    if (row?.status === 'ready' && row.provider_voice_id === providerVoiceId) return row;
    await takeBack(context, run, providerVoiceId);
    throw error;
  }
}

async function makeClone(context: RunContext, { cloner, again, request }: CloneRun): Promise<string> {
  const { reference: id } = request;
  try {
    const found = again ? await askProvider(context, 'find', PROVIDER_LIMIT_MS, (signal) => cloner.find(id, signal)) : undefined;
    return found ?? await askProvider(context, 'clone', CLONE_LIMIT_MS, (signal) => cloner.clone(request, signal));
  } catch (error) {
    if (error instanceof CloningError && error.refused && !again) await giveUp(context, id);
    else await abandonVoice(context.db, id);
    throw unavailable('The provider could not make the clone. Nothing was charged; try again later.');
  }
}

function keep({ db, clock }: RunContext, run: CloneRun, providerVoiceId: string): Promise<VoiceRow> {
  const { accountId, livemode, provider, feeMicros, apiKeyId, request: { reference: id } } = run;
  const nowMs = clock.now();
  return db.transaction(async (transaction) => {
    const row = await completeVoice(transaction, id, providerVoiceId, new Date(nowMs));
    if (!row) throw unavailable('Making the clone took too long. Nothing was charged; try again.');
    await chargeOnce(transaction, {
      accountId, livemode, type: 'voice_clone', model: CLONE_MODELS[provider], amountMicros: feeMicros, sourceKey: `voice_clone:${id}`, ...(apiKeyId === undefined ? {} : { apiKeyId }), nowMs,
    });
    return row;
  });
}

async function takeBack(context: RunContext, { cloner, request: { reference: id } }: CloneRun, providerVoiceId: string): Promise<void> {
  try {
    await askProvider(context, 'delete', PROVIDER_LIMIT_MS, (signal) => cloner.delete(providerVoiceId, signal));
    await giveUp(context, id);
  } catch {
    // The clean-up job deletes it later.
    await abandonVoice(context.db, id);
  }
}

/**
 * Deletes what was made for a voice that never came to be. Harmless for one that did. Answers when to come again if the voice
 * is being made just now. Throws Error to be tried again.
 */
export async function cleanUp(context: Pick<AppContext, 'db' | 'clock' | 'log' | 'cloning'>, id: string): Promise<Date | undefined> {
  const now = context.clock.now();
  const row = await beginCleaning(context.db, id, new Date(now - CLEAN_UP_AFTER_MS));
  if (!row) return (await findAnyVoice(context.db, id))?.status === 'cloning' ? new Date(now + CLEAN_UP_AFTER_MS) : undefined;
  const cloner = context.cloning.clonerOf(row.provider, row.livemode);
  if (!cloner) throw new Error(`${row.provider} is not configured, so a clone that may be there cannot be looked for`);
  const left = await askProvider(context, 'find', PROVIDER_LIMIT_MS, (signal) => cloner.find(id, signal));
  if (left !== undefined) await askProvider(context, 'delete', PROVIDER_LIMIT_MS, (signal) => cloner.delete(left, signal));
  await deleteUnmadeVoice(context.db, id);
  return undefined;
}

/** Registers what voices leave for later. */
export function handleVoiceJobs(context: Pick<AppContext, 'db' | 'clock' | 'log' | 'cloning' | 'jobs'>): void {
  context.jobs.handle(CLEAN_UP_JOB, ({ voice_id }) => cleanUp(context, String(voice_id)));
}
