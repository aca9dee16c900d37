import type { FastifyReply } from 'fastify';
import { WAV_HEADER_BYTES } from '../../../media/wav.ts';
import type { App } from '../../api/app-type.ts';
import { ApiError } from '../../api/errors.ts';
import type { EventStream } from '../../api/event-stream.ts';
import { IdParams, NoQuery } from '../../api/schemas.ts';
import type { AppContext } from '../../context.ts';
import { requireCall } from './actions.ts';
import { followCall } from './call-events.ts';
import { presentLogEntry } from './present.ts';
import { channelOf, type Bytes } from './recording-channels.ts';
import { RecordingEncoder } from './recording-encoder.ts';
import { sendRecording } from './recording-reply.ts';
import { CallLog, LogQuery, RecordingQuery, Transcript, type Channel, type TranscriptItem } from './schema.ts';
import { sipCapture } from './sip-capture.ts';
import { selectLog, selectTranscript } from './store.ts';

const READ = { scope: 'calls:read', errors: ['call_not_found', 'key_mode_mismatch'] } as const;
const MEDIA_TYPES = { mp3: 'audio/mpeg', ogg: 'audio/ogg' };

/** What was said, heard and decided in a call. */
export function callContentRoutes(app: App, context: AppContext): void {
  const { db } = context;
  const encoder = context.recordingEncoder ?? new RecordingEncoder();

  app.get('/v1/calls/:id/transcript', { config: READ, schema: { summary: 'Get a transcript', params: IdParams, querystring: NoQuery, response: { 200: Transcript } } }, async ({ params, principal }) => {
    const { id } = await requireCall(db, principal, params.id);
    const items = await selectTranscript<TranscriptItem>(db, id);
    return { object: 'call_transcript' as const, call_id: id, items: items.map(({ item }) => item) };
  });

  app.get('/v1/calls/:id/log', {
    config: { ...READ, produces: ['application/vnd.tcpdump.pcap'] },
    schema: { summary: 'Get a log', description: 'SIP messages, media, every turn decision with its reason, engine events, tool calls and errors, in order.', params: IdParams, querystring: LogQuery, response: { 200: CallLog } },
  }, async ({ params, query, principal }, reply) => {
    const { id } = await requireCall(db, principal, params.id);
    const log = await selectLog(db, id);
    if (query.format !== 'pcap') return { object: 'call_log' as const, call_id: id, entries: log.map(presentLogEntry) };
    return reply.type('application/vnd.tcpdump.pcap').header('Content-Disposition', `attachment; filename="${id}.pcap"`).send(sipCapture(log) as never);
  });

  app.get('/v1/calls/:id/recording', {
    config: { ...READ, errors: [...READ.errors, 'recording_not_found', 'range_not_satisfiable', 'encoder_unavailable'], produces: ['audio/wav', 'audio/mpeg', 'audio/ogg'] },
    schema: { summary: 'Get a recording', params: IdParams, querystring: RecordingQuery },
  }, async ({ params, query, principal, headers, method }, reply) => {
    const { id, ended_at, recording_channels } = await requireCall(db, principal, params.id);
    // Both sides are kept apart always; an agent that records in mono is heard in mono.
    const { format = 'wav', channel = recording_channels === 'mono' ? 'mix' : undefined } = query;
    const recording = await storedRecording(context, id, ended_at !== null);
    if (format === 'wav') return sendRecording(reply, headers.range, { ...(channel === undefined ? recording : await pickChannel(context, id, recording, channel)), name: `${id}.wav` });
    return sendEncoded(reply, { id, format, channel, recording, headOnly: method === 'HEAD' });
  });

  const sendEncoded = async (reply: FastifyReply, wanted: { id: string; format: 'mp3' | 'ogg'; channel: Channel | undefined; recording: Bytes; headOnly: boolean }): Promise<FastifyReply> => {
    const { id, format, channel, recording, headOnly } = wanted;
    reply.headers({ 'Content-Type': MEDIA_TYPES[format], 'Accept-Ranges': 'none', 'Content-Disposition': `attachment; filename="${id}.${format}"` });
    if (headOnly) return reply.send();
    const wav = await context.recordings.describe(id);
    if (wav.dataBytes === 0) throw new ApiError('recording_not_found', 'The recording is empty.');
    const sound = channel === undefined ? { ...recording, channels: wav.channels, dataStart: wav.dataStart, bytes: wav.dataStart + wav.dataBytes } : { ...channelOf(recording, wav, channel), channels: 1, dataStart: WAV_HEADER_BYTES };
    return reply.send(await encoder.encode(format, { sampleRate: wav.sampleRate, channels: sound.channels }, () => sound.read(sound.dataStart, sound.bytes - 1)));
  };

  eventRoutes(app, context);
}

/** GET /v1/calls/{id}/events. */
function eventRoutes(app: App, context: AppContext): void {
  const open = new Set<EventStream>();
  app.addHook('preClose', async () => {
    for (const stream of open) stream.end();
  });
  app.get('/v1/calls/:id/events', {
    config: { ...READ, errors: [...READ.errors, 'rate_limited'], produces: ['text/event-stream'] },
    exposeHeadRoute: false,
    schema: {
      summary: 'Follow a call',
      description: 'Server-sent events: `call` (the call as it is now), `transcript` (an item with its `position`; sent again with the same position it replaces the one before) and `log`. First what is there, then what comes; the stream ends with the call.',
      params: IdParams, querystring: NoQuery,
    },
  }, async ({ params, principal }, reply) => {
    const stream = await followCall(context, principal, params.id);
    open.add(stream);
    stream.once('close', () => open.delete(stream));
    return reply.headers({ 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' }).send(stream);
  });
}

async function storedRecording({ recordings }: AppContext, id: string, ended: boolean): Promise<Bytes> {
  const bytes = ended ? await recordings.size(id) : undefined;
  if (bytes === undefined) throw new ApiError('recording_not_found', ended ? undefined : 'The call is live; its recording can be read once it has ended.');
  return { bytes, read: (from, to) => recordings.read(id, from, to) };
}

async function pickChannel({ recordings }: AppContext, id: string, recording: Bytes, channel: Channel): Promise<Bytes> {
  return channelOf(recording, await recordings.describe(id), channel);
}
