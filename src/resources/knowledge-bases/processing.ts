import { availableParallelism } from 'node:os';
import type { AppContext } from '../../context.ts';
import { isUnavailable } from '../../db/database.ts';
import { DocumentFault } from './document-fault.ts';
import { fetchDocument } from './document-fetch.ts';
import type { DocumentFormat } from './document-format.ts';
import { beginRun, lockRun, markFailed, markReady, noteFetched, noteProgress, readSource, type DocumentRow } from './document-store.ts';
import { PARSER_LIMITS, parseInThread, type Parsed, type ParserLimits } from './parser-thread.ts';
import { deletePassages, insertPassages } from './passage-store.ts';
import { contentsOf, findKnowledgeBase, NO_CONTENTS } from './store.ts';

export const DOCUMENT_JOB = 'knowledge_document';
export const MAX_PASSAGES = 10_000;
/** Documents that end the process, or its patience, this often are given up. */
const MAX_RUNS = 5;
/** Calls come first: most of the machine is theirs. And never all the jobs that run at once: other kinds have their turn. */
const READ_AT_ONCE = Math.max(1, Math.min(2, Math.floor(availableParallelism() / 4)));
const WAIT_FOR_PLACE_MS = 2000;
const INSERTED_AT_ONCE = 250;
/** Percent done when a document is there, and when it has been read. */
const FETCHED = 5;
const READ = 80;
const PROGRESS_STEP = 5;

type ProcessingContext = Pick<AppContext, 'db' | 'jobs' | 'clock' | 'log' | 'guard'>;

/** Lets documents be read in the background. Call it where the jobs are composed, before they start. */
export function handleDocumentJobs(context: ProcessingContext, limits: ParserLimits = PARSER_LIMITS): void {
  let reading = 0;
  context.jobs.handle(DOCUMENT_JOB, async ({ document_id }, signal) => {
    if (reading >= READ_AT_ONCE) return new Date(context.clock.now() + WAIT_FOR_PLACE_MS);
    reading++;
    try {
      await processDocument(context, String(document_id), signal, limits);
      return undefined;
    } finally {
      reading--;
    }
  });
}

async function processDocument(context: ProcessingContext, id: string, signal: AbortSignal, limits: ParserLimits): Promise<void> {
  const { db, clock, log } = context;
  const run = await beginRun(db, id);
  if (!run) return;
  try {
    if (run.attempts > MAX_RUNS) throw new DocumentFault('Reading the document was begun several times and never came to an end. Split it, or save it in a simpler form.');
    const parsed = await read(context, run, signal, limits);
    await store(context, run, parsed);
  } catch (error) {
    // Another run, after a restart or when the database is back, does it all again.
    if (signal.aborted || isUnavailable(error)) throw error;
    if (!(error instanceof DocumentFault)) log.error({ document: id, error: error instanceof Error ? error.stack : String(error) }, 'a document could not be processed');
    await markFailed(db, run, error instanceof DocumentFault ? error.message : 'The service failed to process the document. Try it again.', new Date(clock.now()));
  }
}

async function read(context: ProcessingContext, run: DocumentRow, signal: AbortSignal, limits: ParserLimits): Promise<Parsed> {
  const { db, log } = context;
  const { data, format } = await sourceOf(context, run, signal);
  let noted = FETCHED;
  await noteProgress(db, run, noted);
  return parseInThread({ format, data, title: run.title, maxPassages: MAX_PASSAGES }, limits, {
    signal,
    onProgress: (share) => {
      const percent = Math.floor(FETCHED + share * (READ - FETCHED));
      if (percent < noted + PROGRESS_STEP) return;
      noted = percent;
      noteProgress(db, run, percent).catch((error: unknown) => log.warn({ document: run.id, error: String(error) }, 'a document\'s progress could not be noted'));
    },
    onDetail: (detail) => log.info({ document: run.id, format, detail }, 'a document could not be read'),
  });
}

async function sourceOf({ db, guard }: ProcessingContext, run: DocumentRow, signal: AbortSignal): Promise<{ data: Uint8Array<ArrayBuffer>; format: DocumentFormat }> {
  if (run.url !== null) {
    const fetched = await fetchDocument(guard, run.url, signal);
    await noteFetched(db, run, fetched.format, fetched.sizeBytes);
    return fetched;
  }
  if (run.format === null || run.size_bytes === null) throw new Error(`Document ${run.id} has no source.`);
  return { data: await readSource(db, run.id, run.size_bytes), format: run.format };
}

/** All passages and the document's new state, or nothing. */
function store({ db, clock }: ProcessingContext, run: DocumentRow, { passages, searchConfig }: Parsed): Promise<void> {
  return db.transaction(async (transaction) => {
    if (!(await lockRun(transaction, run))) return;
    const base = await findKnowledgeBase(transaction, run.account_id, run.knowledge_base_id, 'keep');
    if (!base) return;
    await deletePassages(transaction, run.id);
    for (let from = 0; from < passages.length; from += INSERTED_AT_ONCE) {
      await insertPassages(transaction, { id: run.id, indexNumber: base.index_number, config: searchConfig }, from, passages.slice(from, from + INSERTED_AT_ONCE));
    }
    // Last, so that the base is locked for a moment only.
    await findKnowledgeBase(transaction, run.account_id, base.id, 'change');
    const others = (await contentsOf(transaction, run.account_id, [base.id])).get(base.id) ?? NO_CONTENTS;
    if (others.passages + passages.length > MAX_PASSAGES) {
      throw new DocumentFault(`The document makes ${passages.length} passages, and the knowledge base, which holds at most ${MAX_PASSAGES}, has ${others.passages} already. Delete others, or use another knowledge base.`);
    }
    await markReady(transaction, run, { passages: passages.length, searchConfig }, new Date(clock.now()));
  });
}
