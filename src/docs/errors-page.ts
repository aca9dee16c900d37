import { ERROR_CATALOGUE, type ErrorCode } from '../api/errors.ts';
import { code, html, json, phrase, type Html } from './html.ts';
import { renderPage } from './page.ts';

const TITLES: Readonly<Record<string, string>> = {
  invalid_request_error: 'Invalid requests', authentication_error: 'Authentication', permission_error: 'Permissions', rate_limit_error: 'Limits',
  insufficient_credits: 'Credit', not_found_error: 'Not found', conflict_error: 'Conflicts', api_error: 'Faults and unavailable parts',
};
const EXAMPLE = {
  error: {
    type: 'not_found_error', code: 'agent_not_found', message: 'No such agent in this account.', param: 'id',
    doc_url: '/docs/errors#agent_not_found', request_id: 'req_5f1d7a0c9be24c3a8d10e6f2',
  },
};

/** `/docs/errors`: every code there is; each `doc_url` leads to its line. `operations`: who can answer it. */
export function errorsPage(operations: ReadonlyMap<string, readonly string[]>): string {
  const codes = Object.keys(ERROR_CATALOGUE) as ErrorCode[];
  const types = [...new Set(codes.map((each) => ERROR_CATALOGUE[each].type))];
  const sections = types.map((type) => html`<section class="group" id="${type}"><header><h2>${TITLES[type] ?? type}</h2><p>Type <code>${type}</code>.</p></header>
<ul class="fields catalogue">${codes.filter((each) => ERROR_CATALOGUE[each].type === type).map((each) => line(each, operations.get(each) ?? []))}</ul></section>`);
  const nav = types.map((type) => ({
    title: TITLES[type] ?? type, href: `#${type}`,
    entries: codes.filter((each) => ERROR_CATALOGUE[each].type === type).map((each) => ({ title: each, href: `#${each}`, badge: String(ERROR_CATALOGUE[each].status) })),
  }));
  const intro = html`<section class="intro"><h1>Errors</h1><p>Every error has this shape. Match on <code>code</code>, which is stable; <code>message</code> is for people and may change. <code>param</code> names the field at fault: dotted, with array positions in brackets. Quote <code>request_id</code> when you report a fault.</p>
<p>429 and 503 carry <code>Retry-After</code> in seconds. After any 5xx a POST can be sent again safely with the same <code>Idempotency-Key</code>.</p>${code(json(EXAMPLE), 'An error')}</section>`;
  return renderPage({ path: '/docs/errors', title: 'Errors', nav, body: html`${intro}${sections}` });
}

/** At most so many operations are named; the rest is everywhere. */
const MAX_NAMED = 6;

function line(name: ErrorCode, operations: readonly string[]): Html {
  const { status, meaning } = ERROR_CATALOGUE[name];
  const used = operations.length > 0 && operations.length <= MAX_NAMED && html`<p class="rules">Answered by ${operations.map((each, index) => html`${index > 0 && ', '}<a href="/docs#${each}">${each}</a>`)}.</p>`;
  return html`<li id="${name}"><a class="name" href="#${name}"><code>${name}</code></a> <span class="type">${status}</span><p>${phrase(meaning)}</p>${used}</li>`;
}
