import type { App } from '../../api/app-type.ts';
import type { ErrorCode } from '../../api/errors.ts';
import type { Recall } from '../../api/recall.ts';
import { IdParams, NoBody, NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import { requireCall } from './actions.ts';
import { commandCall, hangUpCall, transferCall } from './commands.ts';
import { presentCall } from './present.ts';
import { AddContext, Call, Say, SendDtmf, TransferCall } from './schema.ts';

/** What may be asked of a live call; each answers the call. */
export function callCommandRoutes(app: App, context: AppContext): void {
  // The first request did what it was asked: a retry only looks.
  const recall: Recall = async ({ principal, params: { id = '' } }) => presentCall(await requireCall(context.db, principal, id));
  const config = (...errors: ErrorCode[]) => ({ scope: 'calls:write' as const, recall, actsOnObject: true as const, errors: ['call_not_found', 'key_mode_mismatch', 'call_not_in_progress', ...errors] as const });
  const shapes = { params: IdParams, querystring: NoQuery, response: { 200: Call } };

  app.post('/v1/calls/:id/hangup', { config: config(), schema: { ...shapes, summary: 'Hang up', body: NoBody } }, async ({ params, principal }) =>
    presentCall(await hangUpCall(context, principal, params.id)));

  app.post('/v1/calls/:id/say', {
    config: config('rate_limited'), schema: { ...shapes, summary: 'Have the agent say something', description: 'It is part of the transcript, and the caller may interrupt it.', body: Say },
  }, async ({ params, principal, body: { text } }) => presentCall(await commandCall(context, principal, params.id, { kind: 'say', text: text.trim() })));

  app.post('/v1/calls/:id/context', {
    config: config('rate_limited'), schema: { ...shapes, summary: 'Tell the agent something', description: 'The model knows it from its next reply on; nobody hears it, and it is not part of the transcript.', body: AddContext },
  }, async ({ params, principal, body: { text } }) => presentCall(await commandCall(context, principal, params.id, { kind: 'context', text: text.trim() })));

  app.post('/v1/calls/:id/dtmf', {
    config: config('dtmf_not_possible', 'rate_limited'), schema: { ...shapes, summary: 'Press keys', body: SendDtmf },
  }, async ({ params, principal, body: { digits } }) => presentCall(await commandCall(context, principal, params.id, { kind: 'dtmf', digits })));

  app.post('/v1/calls/:id/transfer', {
    config: config('transfer_not_possible', 'destination_not_allowed', 'invalid_phone_number', 'transfer_unavailable'),
    schema: { ...shapes, summary: 'Transfer a call', description: 'Only an answered telephone call.', body: TransferCall },
  }, async ({ params, principal, body }) => presentCall(await transferCall(context, principal, params.id, body)));
}
