import type { AudioFormat } from '../../calls/worker-protocol.ts';
import type { EndReason } from '../../end-reason.ts';

/** The realtime protocol's text messages. Audio travels beside them, in binary messages. */

/** Largest message either way, bytes. */
export const MAX_MESSAGE_BYTES = 64 * 1024;
/** The one version of this protocol; answered to a client that offers it in `Sec-WebSocket-Protocol`. */
export const SUBPROTOCOL = 'wirevoice.v1';

const MAX_TEXT_CHARS = 4000;
const MAX_ID_CHARS = 64;
const MAX_SECRET_CHARS = 512;
const MAX_PLAYED_MS = 24 * 3_600_000;
const DTMF_DIGITS = /^[0-9A-D*#]{1,32}$/;

export type ClientMessage =
  /** First message of a client that did not show its secret in `Sec-WebSocket-Protocol`. */
  | { type: 'session.start'; client_secret?: string; resume_token?: string }
  /** How far the item's audio has been played, ms since its `agent.audio.start`. */
  | { type: 'playback.position'; item_id: string; played_ms: number }
  /** The caller types instead of speaking. */
  | { type: 'input.text'; text: string }
  | { type: 'interrupt' }
  | { type: 'dtmf'; digits: string }
  | { type: 'mute'; muted: boolean }
  | { type: 'ping'; id?: string }
  | { type: 'session.end' }
  /** Understood and answered with a warning: not acted upon yet. */
  | { type: 'context' | 'tool.result' };

/** The sound's format as the API spells it. */
export interface WireAudioFormat { encoding: AudioFormat['encoding']; sample_rate: number }

export type ServerMessage =
  | { type: 'session.ready'; call_id: string; audio: { input: WireAudioFormat; output: WireAudioFormat }; resume_token: string; resumed: boolean }
  | { type: 'state'; state: 'listening' | 'thinking' | 'speaking' }
  | { type: 'speech.started' }
  | { type: 'speech.stopped' }
  /** What the caller is saying; replaces the partial before it. */
  | { type: 'transcript.partial'; text: string }
  | { type: 'transcript.final'; text: string; item_id?: string }
  /** The next part of the item's text; a space joins it to the part before. */
  | { type: 'agent.text'; item_id: string; text: string }
  /** The binary messages from here to `agent.audio.end` are this item's sound. */
  | { type: 'agent.audio.start'; item_id: string }
  | { type: 'agent.audio.end'; item_id: string }
  /** Drop what is buffered, now. */
  | { type: 'audio.clear' }
  /** The caller interrupted: this much of the item was heard. */
  | { type: 'agent.corrected'; item_id: string; heard_text: string }
  | { type: 'turn.metrics'; voice_to_voice_ms: number; endpointing_ms: number; stt_ms: number; llm_ms: number; tts_ms: number }
  | { type: 'warning'; code: string; message: string }
  | { type: 'error'; code: string; message: string; fatal: boolean }
  | { type: 'session.ended'; end_reason: EndReason }
  | { type: 'pong'; id?: string };

/** Why a client message was not understood. */
export interface Misunderstood { type: 'misunderstood'; code: 'invalid_json' | 'unknown_type' | 'invalid_message'; message: string }

type Fields = Record<string, unknown>;
type Read = (fields: Fields) => ClientMessage | string;

/** One reader a type: the message, or the sentence that says what is wrong with it. */
const READERS: Record<string, Read> = {
  'session.start': readStart,
  'playback.position': readPosition,
  'input.text': ({ text }) =>
    isText(text, MAX_TEXT_CHARS) && text.trim() !== '' ? { type: 'input.text', text } : `text: a string of 1 to ${MAX_TEXT_CHARS} characters.`,
  interrupt: () => ({ type: 'interrupt' }),
  dtmf: ({ digits }) =>
    typeof digits === 'string' && DTMF_DIGITS.test(digits) ? { type: 'dtmf', digits } : 'digits: 1 to 32 of 0-9, A-D, * and #.',
  mute: ({ muted }) => (typeof muted === 'boolean' ? { type: 'mute', muted } : 'muted: true or false.'),
  ping: ({ id }) => {
    if (id === undefined) return { type: 'ping' };
    return isText(id, MAX_ID_CHARS) ? { type: 'ping', id } : `id: a string of at most ${MAX_ID_CHARS} characters.`;
  },
  'session.end': () => ({ type: 'session.end' }),
  context: () => ({ type: 'context' }),
  'tool.result': () => ({ type: 'tool.result' }),
};

/** Reads a client's text message. Fields it does not know are ignored, so that a newer client can talk to an older server. */
export function readClientMessage(text: string): ClientMessage | Misunderstood {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return misunderstood('invalid_json', 'The message is not JSON. Send one JSON object per text message.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return misunderstood('invalid_message', 'The message is not a JSON object with a "type".');
  }
  const fields = value as Fields;
  const { type } = fields;
  if (typeof type !== 'string') return misunderstood('invalid_message', 'The message has no "type".');
  const read = Object.hasOwn(READERS, type) ? READERS[type] : undefined;
  if (!read) return misunderstood('unknown_type', `Unknown type ${JSON.stringify(type.slice(0, MAX_ID_CHARS))}.`);
  const message = read(fields);
  return typeof message === 'string' ? misunderstood('invalid_message', `${type}: ${message}`) : message;
}

/** The API's spelling of a format. */
export function wireFormat(format: AudioFormat): WireAudioFormat {
  return { encoding: format.encoding, sample_rate: format.sampleRate };
}

function readStart({ client_secret, resume_token }: Fields): ClientMessage | string {
  if (client_secret !== undefined && !isText(client_secret, MAX_SECRET_CHARS)) return `client_secret: a string of at most ${MAX_SECRET_CHARS} characters.`;
  if (resume_token !== undefined && !isText(resume_token, MAX_SECRET_CHARS)) return `resume_token: a string of at most ${MAX_SECRET_CHARS} characters.`;
  return {
    type: 'session.start',
    ...(client_secret === undefined ? {} : { client_secret }),
    ...(resume_token === undefined ? {} : { resume_token }),
  };
}

function readPosition({ item_id, played_ms }: Fields): ClientMessage | string {
  if (!isText(item_id, MAX_ID_CHARS) || item_id === '') return `item_id: a string of 1 to ${MAX_ID_CHARS} characters.`;
  if (typeof played_ms !== 'number' || !(played_ms >= 0 && played_ms <= MAX_PLAYED_MS)) return `played_ms: a number from 0 to ${MAX_PLAYED_MS}.`;
  return { type: 'playback.position', item_id, played_ms };
}

function isText(value: unknown, maxChars: number): value is string {
  return typeof value === 'string' && value.length <= maxChars;
}

function misunderstood(code: Misunderstood['code'], message: string): Misunderstood {
  return { type: 'misunderstood', code, message };
}
