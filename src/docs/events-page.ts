import { readFileSync } from 'node:fs';
import { EVENT_IDS, type EventId } from '../events/event.ts';
import { DELIVERY_HEADERS, EVENTS } from './event-schemas.ts';
import { code, html, json, phrase, prose, type Html } from './html.ts';
import type { OpenApiDocument, Operation, Schema } from './open-api.ts';
import { renderPage } from './page.ts';
import { fieldList } from './schema-view.ts';

/** Programs that check a signature, as they stand on the page. */
const VERIFIERS = [
  { title: 'TypeScript, Node', file: 'verify.ts' },
  { title: 'Python', file: 'verify.py' },
  { title: 'Bash, openssl', file: 'verify.sh' },
].map(({ title, file }) => ({ title, text: readFileSync(new URL(`./verifiers/${file}`, import.meta.url), 'utf8').trimEnd() }));

const DELIVERY = `Each account has one webhook address, set with \`PATCH /v1/webhook\`. An account that never chose is subscribed to all ten events; \`enabled: false\` sends nothing. An event fires in the same way whether the API, an agent in a call, an MCP client or the console did what it tells of.

Answer with any 2xx within 8 seconds; your answer's body is not read. Everything else is a failure, redirects included, which are not followed. A failed delivery is tried again twice, about 5 and then 30 seconds later, but only after no answer at all, 408, 429 or a 5xx. Every other 4xx is final.

Webhooks are best effort: retries that wait are lost when the service restarts. Drop duplicates by \`data.event_key\`, and reconcile with \`GET /v1/calls\`. Every attempt is listed by \`GET /v1/webhook/deliveries\` for three months, and \`POST /v1/webhook/test\` sends a sample with \`test: true\`.

The address must be public: one in loopback, link-local or private space is refused with \`unsafe_webhook_url\` when it is set, and again at every delivery.`;

const SIGNING = `\`X-Service-Signature\` is the hex HMAC-SHA256 of the raw body, keyed with the signing secret (\`whsec_…\`), which the first \`PATCH /v1/webhook\` with a \`url\` shows once. Compute it over the bytes as they came, before any JSON parsing, and compare in constant time. After \`POST /v1/webhook/rotate-secret\` only the new secret signs.`;

/** `/docs/events`: the ten events, their deliveries, and how to verify them. */
export function eventsPage({ components: { schemas }, webhooks }: OpenApiDocument): string {
  const nav = [
    { title: 'Deliveries', href: '#deliveries', entries: [] },
    { title: 'Signatures', href: '#signatures', entries: [] },
    { title: 'Events', href: '#events', entries: EVENT_IDS.map((event) => ({ title: event, href: `#${event}` })) },
  ];
  const headers = Object.entries(DELIVERY_HEADERS).map(([name, meaning]) => html`<li><code class="name">${name}</code><p>${phrase(meaning)}</p></li>`);
  const body = html`<section class="intro"><h1>Events</h1><p>What happens in an account is told to one address of yours, as signed JSON over HTTP POST.</p></section>
<section class="group" id="deliveries"><header><h2>Deliveries</h2></header>${prose(DELIVERY)}<h3>Headers</h3><ul class="fields">${headers}</ul></section>
<section class="group" id="signatures"><header><h2>Signatures</h2></header>${prose(SIGNING)}${VERIFIERS.map(({ title, text }) => code(text, title))}</section>
<section class="group" id="events"><header><h2>Events</h2><p>The body of every delivery has these fields; <code>data</code> is the resource as its GET shows it.</p>${fieldList(withoutData(schemas['OutboundCallEvent'] ?? {}), new Set())}</header>${EVENT_IDS.map((event) => eventView(event, webhooks[event]?.post))}</section>`;
  return renderPage({ path: '/docs/events', title: 'Events', nav, body });
}

function eventView(event: EventId, operation: Operation | undefined): Html {
  const { fires, resource, adds = {} } = EVENTS[event];
  const own = { properties: { event_key: { type: 'string', description: 'The same in every delivery of this happening.' }, ...adds }, required: ['event_key'] };
  return html`<article class="operation" id="${event}"><div><h3><a href="#${event}">${event}</a></h3><p>${phrase(fires)}</p>
<p><code>data</code>: the fields of <a href="/docs#object-${resource}">${resource}</a>, and</p>${fieldList(own, new Set())}</div>
<aside>${code(json(operation?.requestBody?.content['application/json']?.example), event)}</aside></article>`;
}

function withoutData({ properties = {}, ...schema }: Schema): Schema {
  const { data: _data, event: _event, ...rest } = properties;
  return { ...schema, properties: { event: { type: 'string', description: 'The event id.' }, ...rest } };
}
