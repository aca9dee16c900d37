import { timingSafeEqual } from 'node:crypto';
import { ICalCalendar, ICalEventStatus } from 'ical-generator';
import { ApiError } from '../../api/errors.ts';
import { newToken } from '../../api/secrets.ts';
import type { AppContext } from '../../context.ts';
import type { Queryable } from '../../db/database.ts';
import { newId } from '../../db/id.ts';
import { deleteFeed, findFeed, findFeedByDigest, listForFeed, writeFeed, type AppointmentRow, type FeedRow } from './store.ts';

interface Owner { accountId: string; livemode: boolean }
type CalendarContext = Pick<AppContext, 'db' | 'clock' | 'keyring'>;

const TOKEN = /^wvf_[\w-]{43}$/;
const DAY_MS = 24 * 3_600_000;
const PAST_MS = 90 * DAY_MS;
const AHEAD_MS = 400 * DAY_MS;
const MAX_EVENTS = 5000;
const REFRESH_SECONDS = 900;

/** A new secret for the feed of this account and mode; an earlier one stops working at once. */
export async function rotateCalendar({ db, clock, keyring }: CalendarContext, owner: Owner, id?: string): Promise<{ row: FeedRow; secret: string }> {
  const secret = newToken('wvf_');
  const nowMs = clock.now();
  const row = { id: id ?? newId(nowMs), account_id: owner.accountId, livemode: owner.livemode, digest: keyring.digest(secret), created_at: new Date(nowMs) };
  await db.transaction((transaction) => writeFeed(transaction, row));
  return { row, secret };
}

/** Throws ApiError `calendar_not_found` before the first secret and after it was revoked. */
export async function requireCalendar(db: Queryable, owner: Owner): Promise<FeedRow> {
  const row = await findFeed(db, owner.accountId, owner.livemode);
  if (!row) throw noCalendar();
  return row;
}

/** The secret stops working at once. Answers the id. Throws ApiError `calendar_not_found`. */
export async function revokeCalendar({ db }: CalendarContext, owner: Owner): Promise<string> {
  const id = await deleteFeed(db, owner.accountId, owner.livemode);
  if (id === undefined) throw noCalendar();
  return id;
}

/** The feed that `token` opens, as iCalendar: 90 days back and 400 ahead. Throws ApiError `invalid_calendar_token`. */
export async function readFeed({ db, clock, keyring }: CalendarContext, token: string | undefined): Promise<string> {
  const digest = token !== undefined && TOKEN.test(token) ? keyring.digest(token) : undefined;
  const feed = digest && (await findFeedByDigest(db, digest));
  if (!digest || !feed || !timingSafeEqual(feed.digest, digest)) throw new ApiError('invalid_calendar_token');
  const nowMs = clock.now();
  const rows = await listForFeed(db, feed.account_id, feed.livemode, new Date(nowMs - PAST_MS), new Date(nowMs + AHEAD_MS), MAX_EVENTS);
  return toCalendar(rows, feed.livemode);
}

function toCalendar(rows: readonly AppointmentRow[], livemode: boolean): string {
  const calendar = new ICalCalendar({ name: livemode ? 'Appointments' : 'Appointments (test)', prodId: { company: 'Wirevoice', product: 'appointments', language: 'EN' }, ttl: REFRESH_SECONDS });
  for (const row of rows) {
    calendar.createEvent({
      id: `${row.id}@wirevoice`, start: row.date_time, end: row.ends_at, stamp: row.updated_at, created: row.created_at, lastModified: row.updated_at, sequence: row.revision,
      summary: row.client_name, description: [row.phone_number, ...(row.notes === null ? [] : [row.notes])].join('\n'),
      status: row.status === 'canceled' ? ICalEventStatus.CANCELLED : ICalEventStatus.CONFIRMED,
    });
  }
  return calendar.toString();
}

function noCalendar(): ApiError {
  return new ApiError('calendar_not_found', 'This account has no calendar address in this mode. POST /v1/appointments/calendar makes one.');
}
