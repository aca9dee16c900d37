import { code, html, phrase, prose, type Html } from './html.ts';
import { renderPage } from './page.ts';
import { CLIENT_MESSAGES, CLOSE_CODES, EXCHANGE, REALTIME_LIMITS as LIMITS, SERVER_MESSAGES, UPGRADE_REFUSALS, type MessageEntry } from './realtime-protocol.ts';

const seconds = (ms: number): string => `${ms / 1000} s`;

const JOINING = `Your server opens a session with \`POST /v1/realtime/sessions\` and hands \`url\` and \`client_secret.value\` to the browser, which opens a WebSocket to that \`url\`. The secret is single use and lives for 60 seconds until the session is joined; a session that nobody joins ends as \`session_not_joined\`.

The secret never stands in the address. Offer it as a subprotocol, beside the protocol's own name, \`${LIMITS.subprotocol}\`, which the server chooses:

- \`new WebSocket(url, ['${LIMITS.subprotocol}', 'secret.' + clientSecret])\`
- or send it in the first message: \`{ "type": "session.start", "client_secret": "…" }\`, within ${seconds(LIMITS.startWithinMs)}.

Pages of the installation's own host may open sessions; other origins must be allowed first. A server needs no session: it opens \`wss://…/v1/realtime?agent_id=…\` with \`Authorization: Bearer <API key>\` and is let in as if it had made one. Its key needs the scope \`calls:write\`.`;

const AUDIO = `Binary messages are audio, 20 ms each way; from a client ${LIMITS.minAudioMs} to ${LIMITS.maxAudioMs} ms are accepted. Formats, chosen for each direction when the session is made: \`pcm16\` (little-endian, mono) at 8000, 16000, 24000 or 48000 Hz; \`pcmu\` and \`pcma\` (G.711) at 8000 Hz. The default is \`pcm16\` at 16000 Hz.

Send in real time. What comes more than ${seconds(LIMITS.maxAheadMs)} ahead of its time is dropped, and \`audio_too_fast\` says so once. The agent's audio comes in real time too, one message per 20 ms; keep the buffer before your loudspeaker short, and empty it at \`audio.clear\`.`;

const LOSS = `A socket that breaks may come back within ${seconds(LIMITS.resumeWithinMs)}: open the same \`url\` and show the newest \`resume_token\`, as the subprotocol \`resume.<token>\` or in \`session.start\`. The agent waits meanwhile. \`session.ready\` then has \`resumed: true\` and a new token, and messages that were missed follow, up to 100. A token works once. After a clean close (with a Close frame) the call is over.

The server pings every ${seconds(LIMITS.pingEveryMs)}; answer, as every WebSocket library does.`;

const LIMIT_RULES = `- A message is at most ${LIMITS.maxMessageBytes / 1024} KiB. Unknown fields are ignored; an unknown type is answered by an \`error\`.
- ${LIMITS.controlPerSecond} text messages and pings a second, and as many at once; ${LIMITS.audioPerSecond} audio messages a second, and ${LIMITS.audioBurst} at once after a stall. More closes with 4429.
- A client that does not read for ${seconds(LIMITS.stuckAfterMs)} is cut, and may resume.`;

/** `/docs/realtime`: the protocol as it is spoken. */
export function realtimePage(): string {
  const sections: [string, string, Html][] = [
    ['joining', 'Joining', html`${prose(JOINING)}<h3>Refused upgrades</h3><ul class="answers">${Object.entries(UPGRADE_REFUSALS).map(([status, meaning]) => html`<li><b>${status}</b> ${phrase(meaning)}</li>`)}</ul>`],
    ['audio', 'Audio', prose(AUDIO)],
    ['client', 'Client to server', html`<ul class="fields">${CLIENT_MESSAGES.map((message) => messageItem('client', message))}</ul>`],
    ['server', 'Server to client', html`<ul class="fields">${SERVER_MESSAGES.map((message) => messageItem('server', message))}</ul>`],
    ['loss', 'Broken sockets', prose(LOSS)],
    ['limits', 'Limits', prose(LIMIT_RULES)],
    ['close-codes', 'Close codes', html`<p>1000 follows <code>session.ended</code>. Otherwise:</p><ul class="answers">${Object.entries(CLOSE_CODES).map(([close, { meaning }]) => html`<li><b>${close}</b> ${phrase(meaning)}</li>`)}</ul>`],
    ['example', 'A whole exchange', code(EXCHANGE, '> client  < server')],
  ];
  const intro = html`<section class="intro"><h1>The realtime protocol</h1><p>A conversation with an agent over one WebSocket: audio in binary messages, control in JSON text messages <code>{ "type": …, … }</code>.</p></section>`;
  const nav = sections.map(([id, title]) => ({ title, href: `#${id}`, entries: entriesOf(id) }));
  return renderPage({ path: '/docs/realtime', title: 'Realtime protocol', nav, body: html`${intro}${sections.map(([id, title, body]) => html`<section class="group" id="${id}"><header><h2>${title}</h2></header>${body}</section>`)}` });
}

function entriesOf(id: string): { title: string; href: string }[] {
  const messages = id === 'client' ? CLIENT_MESSAGES : id === 'server' ? SERVER_MESSAGES : [];
  return messages.map(({ type }) => ({ title: type, href: `#${id}-${type}` }));
}

function messageItem(side: string, { type, meaning, fields = {}, reserved }: MessageEntry): Html {
  const shown = Object.entries(fields);
  return html`<li id="${side}-${type}"><code class="name">${type}</code>${reserved === true && html` <span class="type">reserved: this version does not send it</span>`}<p>${phrase(meaning)}</p>${shown.length > 0 && html`<ul class="fields">${shown.map(([name, rule]) => html`<li><code class="name">${name}</code> <span class="type">${phrase(rule)}</span></li>`)}</ul>`}</li>`;
}
