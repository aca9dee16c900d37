import fastify from 'fastify';
import t from 'tap';
import { talkPage } from '../../../src/console/talk-page.ts';

const app = fastify();
talkPage(app as never, { publicUrl: 'https://voice.example.com' });
await app.ready();

t.test('the page and all it loads are served, under a policy without exceptions', async (t) => {
  const page = await app.inject({ url: '/talk', headers: { host: 'localhost:8080' } });
  t.equal(page.statusCode, 200);
  t.match(page.headers['content-type'], 'text/html');
  const policy = String(page.headers['content-security-policy']);
  t.match(policy, "default-src 'none'; script-src 'self'; style-src 'self';");
  t.notMatch(policy, /unsafe|\*(?![; ]|$)|data:/);
  t.match(policy, 'ws://localhost:* wss://localhost:* ws://127.0.0.1:*');
  t.match(policy, 'wss://voice.example.com:*');
  t.notMatch(page.body, /<style|style=|<script(?![^>]*src=)|\son\w+=/, 'nothing inline');

  const seen = new Set<string>();
  const queue = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1]!);
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    if (seen.has(path)) continue;
    seen.add(path);
    const asset = await app.inject({ url: path });
    t.equal(asset.statusCode, 200, path);
    t.equal(asset.headers['x-content-type-options'], 'nosniff');
    const loaded = [...asset.body.matchAll(/(?:from|addModule\()\s*'([^']+)'/g)].map((match) => match[1]!);
    queue.push(...loaded.map((name) => new URL(name, `http://x${path}`).pathname));
  }
  t.equal(seen.size, 13, 'and nothing is served that no page loads');
});

t.test('a hostile Host header does not get into the policy', async (t) => {
  for (const host of ["x; script-src *", "evil'unsafe-inline'", '[::1]:80', '', 'a b', '%0d%0a']) {
    const page = await app.inject({ url: '/talk', headers: { host } });
    t.notMatch(String(page.headers['content-security-policy']), /script-src \*|unsafe|\[|%/, JSON.stringify(host));
  }
});

t.test('what has not changed is not sent again', async (t) => {
  const first = await app.inject({ url: '/talk/assets/talk.js' });
  const second = await app.inject({ url: '/talk/assets/talk.js', headers: { 'if-none-match': String(first.headers.etag) } });
  t.equal(second.statusCode, 304);
  t.equal(second.body, '');
});

t.test('nothing else of the folder can be had', async (t) => {
  for (const path of ['/talk/', '/talk/assets/', '/talk/assets/../talk-page.ts', '/talk/assets/%2e%2e/talk-page.ts', '/talk/assets/talk.html', '/talk/assets/x.js']) {
    t.equal((await app.inject({ url: path })).statusCode, 404, path);
  }
});
