import Type from 'typebox';
import type { App } from '../../api/app-type.ts';
import type { Recall } from '../../api/recall.ts';
import { Deleted, iso, NoBody, NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import { readFeed, requireCalendar, revokeCalendar, rotateCalendar } from './calendar.ts';
import { Calendar, CalendarWithSecret, FeedQuery } from './schema.ts';
import type { FeedRow } from './store.ts';

/** `/v1/appointments/calendar`, and the feed that its secret opens. */
export function calendarRoutes(app: App, context: AppContext): void {
  const { db, options } = context;
  const write = { scope: 'appointments:write' } as const;
  const present = (row: FeedRow): Calendar => ({
    id: row.id, object: 'calendar', livemode: row.livemode, url: `${options.publicUrl}/v1/appointments.ics`, created_at: iso(row.created_at),
  });
  // The secret was shown in the first answer, or to nobody: one that was lost is made anew.
  const recall: Recall = async ({ principal }) => ({ ...present(await requireCalendar(db, principal)), secret: null, secret_already_shown: true });

  app.post('/v1/appointments/calendar', {
    config: { ...write, recall },
    schema: {
      summary: 'Make a calendar address', description: 'Of all appointments of this mode, for calendar programs. An earlier address stops working at once.',
      body: NoBody, querystring: NoQuery, response: { 201: CalendarWithSecret },
    },
  }, async ({ principal, resourceId }, reply) => {
    const { row, secret } = await rotateCalendar(context, principal, resourceId);
    return reply.code(201).send({ ...present(row), secret });
  });

  app.get('/v1/appointments/calendar', {
    config: { scope: 'appointments:read', errors: ['calendar_not_found'] },
    schema: { summary: 'Read the calendar address', description: 'Without its secret.', querystring: NoQuery, response: { 200: Calendar } },
  }, async ({ principal }) => present(await requireCalendar(db, principal)));

  app.delete('/v1/appointments/calendar', {
    config: { ...write, errors: ['calendar_not_found'] }, schema: { summary: 'Revoke the calendar address', querystring: NoQuery, response: { 200: Deleted } },
  }, async ({ principal }) => ({ id: await revokeCalendar(context, principal), object: 'calendar', deleted: true as const }));

  // Calendar programs send no headers of ours: the token in the query is the key.
  app.get('/v1/appointments.ics', {
    config: { scope: 'public', errors: ['invalid_calendar_token'] },
    schema: {
      summary: 'Read the calendar feed', description: 'iCalendar, from 90 days ago to 400 days ahead. Needs no API key.',
      querystring: FeedQuery, response: { 200: { content: { 'text/calendar': { schema: Type.String() } } } },
    },
  }, async ({ query }, reply) => reply.type('text/calendar; charset=utf-8').send(await readFeed(context, query.token)));
}
