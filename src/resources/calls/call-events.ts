import { ApiError } from '../../api/errors.ts';
import { EventStream } from '../../api/event-stream.ts';
import type { AppContext } from '../../context.ts';
import { requireCall } from './actions.ts';
import type { CallNews } from './call-feed.ts';
import { presentCall, presentLogEntry } from './present.ts';
import { selectLog, selectTranscript } from './store.ts';

/**
 * A call's events: first what is there, then what comes, until the call has ended. Throws ApiError `call_not_found`,
 * `key_mode_mismatch`, or `rate_limited` when too many follow it.
 */
export async function followCall(context: Pick<AppContext, 'db' | 'callFeed' | 'clock'>, owner: { accountId: string; livemode: boolean }, id: string): Promise<EventStream> {
  const { db, callFeed, clock } = context;
  await requireCall(db, owner, id);
  // Listened to before anything is read, so that nothing is missed in between.
  let tell: (news: CallNews) => void = (news) => void missed.push(news);
  const missed: CallNews[] = [];
  const leave = callFeed.subscribe({ id, accountId: owner.accountId }, (news) => tell(news));
  if (!leave) throw new ApiError('rate_limited', 'Too many follow calls already; close one of the streams.');
  try {
    const [call, items, log] = [await requireCall(db, owner, id), await selectTranscript<object>(db, id), await selectLog(db, id)];
    const stream = new EventStream(clock).once('close', leave);
    stream.tellOfBefore('call', presentCall(call));
    for (const { position, item } of items) stream.tellOfBefore('transcript', { position, ...item });
    for (const row of log) stream.tellOfBefore('log', presentLogEntry(row));
    tell = (news) => {
      stream.tell(news.event, news.data);
      if (news.event === 'call' && news.ended) stream.end();
    };
    const shown = new Set(log.map(({ sequence }) => sequence));
    for (const news of missed) if (news.event !== 'log' || !shown.has(news.sequence)) tell(news);
    if (call.ended_at !== null) stream.end();
    return stream;
  } catch (error) {
    leave();
    throw error;
  }
}
