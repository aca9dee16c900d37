/** The realtime protocol as people read it. The media side, which speaks it, is another thread's code: a test holds both together. */

export interface MessageEntry { type: string; meaning: string; fields?: Readonly<Record<string, string>>; reserved?: true }

/** What the page states in numbers. */
export const REALTIME_LIMITS = {
  subprotocol: 'wirevoice.v1',
  maxMessageBytes: 64 * 1024,
  minAudioMs: 10,
  maxAudioMs: 60,
  controlPerSecond: 100,
  audioPerSecond: 150,
  audioBurst: 600,
  maxAheadMs: 1000,
  pingEveryMs: 20_000,
  stuckAfterMs: 10_000,
  resumeWithinMs: 15_000,
  startWithinMs: 5000,
};

export const CLIENT_MESSAGES: readonly MessageEntry[] = [
  { type: 'session.start', meaning: 'The first message of a client that did not show its secret in `Sec-WebSocket-Protocol`. Due within 5 seconds; afterwards it is ignored.', fields: { client_secret: 'string, at most 512 characters: to join', resume_token: 'string, at most 512 characters: to come back instead' } },
  { type: 'playback.position', meaning: 'How much of an item has left the loudspeaker. Send it every few hundred milliseconds, and once at its end: it is what the transcript\'s `heard_text` is made from.', fields: { item_id: 'string, 1 to 64 characters, required', played_ms: 'number, 0 to 86400000, required: ms since the item\'s `agent.audio.start`' } },
  { type: 'input.text', meaning: 'The caller types instead of speaking.', fields: { text: 'string, 1 to 4000 characters, not only spaces, required' } },
  { type: 'interrupt', meaning: 'The agent stops speaking, now.' },
  { type: 'dtmf', meaning: 'Keys of a keypad.', fields: { digits: 'string, required: 1 to 32 of `0-9`, `A-D`, `*` and `#`' } },
  { type: 'mute', meaning: 'The caller\'s microphone is off or on again. While it is off, audio that still comes is not heard.', fields: { muted: 'boolean, required' } },
  { type: 'ping', meaning: 'Answered by `pong`; measures the way there and back.', fields: { id: 'string, at most 64 characters: comes back in the `pong`' } },
  { type: 'context', meaning: 'Understood, but not acted upon by this version: answered by a `warning` with code `not_supported`.' },
  { type: 'tool.result', meaning: 'Understood, but not acted upon by this version: answered by a `warning` with code `not_supported`.' },
  { type: 'session.end', meaning: 'Ends the call with `caller_hangup`. Closing the socket does the same.' },
];

export const SERVER_MESSAGES: readonly MessageEntry[] = [
  { type: 'session.ready', meaning: 'The door is open: from here on audio flows both ways.', fields: { call_id: 'string: the call, as `GET /v1/calls/{id}` shows it', audio: 'object: `input` and `output`, each `{ encoding, sample_rate }`', resume_token: 'string: opens the session once more if the socket breaks', resumed: 'boolean: true when a resume token was shown' } },
  { type: 'state', meaning: 'What the agent does.', fields: { state: 'string: `listening`, `thinking` or `speaking`' } },
  { type: 'speech.started', meaning: 'The caller began to speak.', reserved: true },
  { type: 'speech.stopped', meaning: 'The caller stopped speaking.', reserved: true },
  { type: 'transcript.partial', meaning: 'What the caller is saying; replaces the partial before it.', fields: { text: 'string' } },
  { type: 'transcript.final', meaning: 'What the caller has said.', fields: { text: 'string', item_id: 'string, may be absent' } },
  { type: 'agent.text', meaning: 'The next part of an item\'s text; a space joins it to the part before.', fields: { item_id: 'string', text: 'string' } },
  { type: 'agent.audio.start', meaning: 'The binary messages from here to `agent.audio.end` are this item\'s sound.', fields: { item_id: 'string' } },
  { type: 'agent.audio.end', meaning: 'The item\'s sound has been sent whole.', fields: { item_id: 'string' } },
  { type: 'audio.clear', meaning: 'Drop all sound that is buffered and not yet played, now: the caller interrupted.' },
  { type: 'agent.corrected', meaning: 'The caller interrupted: only this much of the item was heard, and the agent knows it.', fields: { item_id: 'string', heard_text: 'string' } },
  { type: 'turn.metrics', meaning: 'How long the agent\'s answer took, part by part.', fields: { voice_to_voice_ms: 'integer: from the caller\'s last sound to the agent\'s first', endpointing_ms: 'integer', stt_ms: 'integer', llm_ms: 'integer', tts_ms: 'integer' } },
  { type: 'warning', meaning: 'Something was ignored; the session goes on. Codes: `not_supported`, `audio_too_fast`.', fields: { code: 'string', message: 'string' } },
  { type: 'error', meaning: 'A message was not understood; unless `fatal`, the session goes on. Codes: `invalid_json`, `unknown_type`, `invalid_message`, `invalid_audio`.', fields: { code: 'string', message: 'string', fatal: 'boolean' } },
  { type: 'session.ended', meaning: 'The call is over. The socket is closed with 1000 right after.', fields: { end_reason: 'string: as in the call, such as `agent_hangup` or `max_duration`' } },
  { type: 'pong', meaning: 'The answer to a `ping`.', fields: { id: 'string, if the ping had one' } },
];

export const CLOSE_CODES: Readonly<Record<number, { name: string; meaning: string }>> = {
  4401: { name: 'unauthorized', meaning: 'A wrong or spent secret or token, audio before `session.start`, or a session that is over.' },
  4408: { name: 'startTimeout', meaning: 'No `session.start` within 5 seconds.' },
  4409: { name: 'replaced', meaning: 'The session was resumed on another socket.' },
  4413: { name: 'tooLarge', meaning: 'A message over 64 KiB.' },
  4429: { name: 'flood', meaning: 'Too many messages in a second.' },
};

/** How an upgrade is refused before there is a socket. */
export const UPGRADE_REFUSALS: Readonly<Record<number, string>> = {
  401: 'The API key of a server is missing or not valid.',
  402: 'The account of a server has not enough credit.',
  403: 'The page\'s origin is not allowed, or a server\'s key lacks `calls:write`.',
  404: 'No such session, or it has ended; no such agent.',
  429: 'Too many sockets of this session wait for their secret; or, for a server, no place for another call.',
  502: 'The media worker could not be reached.',
  503: 'No place for another session.',
};

/** One short conversation, line by line: `>` client, `<` server. */
export const EXCHANGE = `POST /v1/realtime/sessions            → 201 { "url": "wss://…/v1/realtime?session=6741…",
                                              "client_secret": { "value": "rts_…" }, … }
GET  wss://…/v1/realtime?session=6741…
     Sec-WebSocket-Protocol: wirevoice.v1, secret.rts_…     → 101, Sec-WebSocket-Protocol: wirevoice.v1

<  { "type": "session.ready", "call_id": "6741c2a09be24c3a8d10e6f2",
     "audio": { "input": { "encoding": "pcm16", "sample_rate": 16000 }, "output": { "encoding": "pcm16", "sample_rate": 16000 } },
     "resume_token": "pZ3…", "resumed": false }
>  binary, 640 bytes: 20 ms of microphone, and so on for as long as the call lasts
<  { "type": "state", "state": "speaking" }
<  { "type": "agent.audio.start", "item_id": "a1" }
<  { "type": "agent.text", "item_id": "a1", "text": "Hello, how can I help?" }
<  binary, 640 bytes: 20 ms of the agent, and so on
>  { "type": "playback.position", "item_id": "a1", "played_ms": 400 }
<  { "type": "agent.audio.end", "item_id": "a1" }
<  { "type": "state", "state": "listening" }
<  { "type": "transcript.partial", "text": "are you open" }
<  { "type": "transcript.final", "text": "Are you open on Sunday?" }
<  { "type": "state", "state": "thinking" }
<  { "type": "agent.audio.start", "item_id": "a2" }
<  { "type": "agent.text", "item_id": "a2", "text": "We are open from ten to four" }
<  { "type": "turn.metrics", "voice_to_voice_ms": 610, "endpointing_ms": 320, "stt_ms": 40, "llm_ms": 160, "tts_ms": 70 }
   the caller speaks over the agent
<  { "type": "audio.clear" }
>  { "type": "playback.position", "item_id": "a2", "played_ms": 900 }
<  { "type": "agent.corrected", "item_id": "a2", "heard_text": "We are open from" }
<  { "type": "state", "state": "listening" }
>  { "type": "session.end" }
<  { "type": "session.ended", "end_reason": "caller_hangup" }
<  Close 1000`;
