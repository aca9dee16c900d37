import { html, type Html } from './html.ts';

const PAGES = [
  { path: '/docs', title: 'Reference' },
  { path: '/docs/realtime', title: 'Realtime' },
  { path: '/docs/events', title: 'Events' },
  { path: '/docs/errors', title: 'Errors' },
] as const;

export interface NavGroup { title: string; href: string; entries: { title: string; href: string; badge?: string }[] }

export interface Page { path: (typeof PAGES)[number]['path']; title: string; nav: NavGroup[]; body: Html }

/** A whole page: nothing inline, nothing from elsewhere. */
export function renderPage({ path, title, nav, body }: Page): string {
  const links = PAGES.map((page) => html`<a href="${page.path}"${page.path === path && html` aria-current="page"`}>${page.title}</a>`);
  const groups = nav.map((group) => html`<section><h2><a href="${group.href}">${group.title}</a></h2>${group.entries.length > 0 && html`<ul>${group.entries.map(entry)}</ul>`}</section>`);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Wirevoice</title>
<link rel="icon" href="/docs/assets/icon.svg">
<link rel="stylesheet" href="/docs/assets/docs.css">
<script src="/docs/assets/docs.js" type="module"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header><a class="brand" href="/docs"><img src="/docs/assets/icon.svg" alt="" width="26" height="26">Wirevoice</a><nav aria-label="Pages">${links}<a href="/openapi.json">OpenAPI</a></nav></header>
<div class="columns">
<details class="contents" open><summary>On this page</summary><nav aria-label="On this page"><input type="search" placeholder="Find…" aria-label="Find on this page" hidden>${groups}</nav></details>
<main id="content">${body}</main>
</div>
</body>
</html>
`.html;
}

function entry({ title, href, badge }: NavGroup['entries'][number]): Html {
  return html`<li><a href="${href}"><span>${title}</span>${badge !== undefined && method(badge)}</a></li>`;
}

/** An HTTP method as a badge. */
export function method(name: string): Html {
  return html`<b class="method ${name.toLowerCase()}">${name === 'DELETE' ? 'DEL' : name}</b>`;
}
