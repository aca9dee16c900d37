import t from 'tap';
import { ERROR_CATALOGUE } from '../../../src/api/errors.ts';
import { html, prose } from '../../../src/docs/html.ts';
import { EVENT_IDS } from '../../../src/events/event.ts';
import { startApiHarness } from '../../support/api-harness.ts';
import { withChromium } from '../../support/chromium.ts';

const PAGES = ['/docs', '/docs/errors', '/docs/realtime', '/docs/events'];

t.test('the pages', async (t) => {
  const api = await startApiHarness();
  t.teardown(() => api.close());
  const bodies = new Map<string, string>();
  for (const page of PAGES) bodies.set(page, (await api.call('GET', page, { key: null })).body as string);
  const idsOf = (page: string): Set<string> => new Set([...(bodies.get(page) ?? '').matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => id));

  t.test('are served to everybody, under a policy without exceptions', async (t) => {
    for (const page of PAGES) {
      const { status, headers } = await api.call('GET', page, { key: null });
      t.equal(status, 200, page);
      t.match(headers, {
        'content-type': 'text/html; charset=utf-8', 'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY', 'referrer-policy': 'no-referrer',
        'content-security-policy': "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      });
      t.notMatch(bodies.get(page), /<style|style=|<script(?![^>]*src=)|\son\w+=/, `${page} has nothing inline`);
    }
  });

  t.test('ask nobody else for anything, and every link leads somewhere', async (t) => {
    const dead = new Set<string>();
    for (const page of PAGES) {
      for (const [, address = ''] of (bodies.get(page) ?? '').matchAll(/(?:src|href)="([^"]+)"/g)) {
        const [path = '', id = ''] = address.split('#');
        const target = path === '' ? page : path;
        if (!target.startsWith('/') || target.startsWith('//')) dead.add(`${page}: ${address}`);
        else if (bodies.has(target) ? id !== '' && !idsOf(target).has(id) : (await api.call('GET', target, { key: null })).status !== 200) dead.add(`${page}: ${address}`);
      }
    }
    t.same([...dead], []);
  });

  t.test('are sent small, and not again when nothing changed', async (t) => {
    const zipped = await api.app.inject({ url: '/docs', headers: { 'accept-encoding': 'gzip, br' } });
    t.match(zipped.headers, { 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
    t.ok(zipped.rawPayload.length < 120_000, `${zipped.rawPayload.length} bytes`);
    const same = await api.app.inject({ url: '/docs', headers: { 'if-none-match': String(zipped.headers.etag) } });
    t.match({ status: same.statusCode, body: same.body }, { status: 304, body: '' });
  });

  t.test('the reference has every operation, with a command to paste', async (t) => {
    const { body: { paths } } = await api.call('GET', '/openapi.json', { key: null });
    const page = bodies.get('/docs') ?? '';
    for (const { operationId } of Object.values(paths).flatMap((methods) => Object.values(methods as Record<string, { operationId: string }>))) t.ok(idsOf('/docs').has(operationId), operationId);
    t.match(page, 'curl -X POST http://localhost:8080/v1/agents \\');
    t.match(page, '-H &#34;Authorization: Bearer $WIREVOICE_API_KEY&#34;');
  });

  t.test('every code has its line, and an error\'s doc_url leads there', async (t) => {
    for (const code of Object.keys(ERROR_CATALOGUE)) t.ok(idsOf('/docs/errors').has(code), code);
    const { body } = await api.call('GET', `/v1/agents/${'f'.repeat(24)}`);
    const url = new URL(body.error.doc_url);
    t.equal(url.pathname, '/docs/errors');
    t.ok(idsOf('/docs/errors').has(url.hash.slice(1)));
  });

  t.test('the ten events, their headers and three programs that verify them', (t) => {
    for (const event of EVENT_IDS) t.ok(idsOf('/docs/events').has(event), event);
    for (const part of ['X-Service-Signature', 'X-Service-Event', 'X-Service-Delivery-Attempt', 'X-Service-Timestamp', 'X-Service-Delivery-Id', 'event_key', 'timingSafeEqual', 'hmac.compare_digest', 'openssl dgst -sha256']) t.match(bodies.get('/docs/events'), part);
    t.end();
  });

  t.test('read well in a browser, wide and on a telephone, in light and in dark', async (t) => {
    await api.app.listen({ port: 0, host: '127.0.0.1' });
    const address = api.app.server.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    await withChromium({}, async ({ page, complaints }) => {
      for (const { width, colorScheme, ground } of [{ width: 1440, colorScheme: 'light', ground: 'rgb(246, 247, 251)' }, { width: 360, colorScheme: 'dark', ground: 'rgb(10, 12, 21)' }] as const) {
        await page.setViewportSize({ width, height: 740 });
        await page.emulateMedia({ colorScheme });
        for (const path of PAGES) {
          await page.goto(`http://127.0.0.1:${port}${path}`, { waitUntil: 'networkidle' });
          const seen = await page.evaluate('({ over: document.documentElement.scrollWidth > innerWidth, ground: getComputedStyle(document.body).backgroundColor })');
          t.same(seen, { over: false, ground }, `${path} at ${width}`);
        }
        t.ok(await page.locator('figure.code button').count() > 5, 'code can be copied');
      }
      t.same(complaints, []);
    });
  });
});

t.test('values are escaped wherever they stand', (t) => {
  const hostile = `<img src=x onerror="alert('1')">&`;
  t.notMatch(html`<p title="${hostile}">${hostile}${[hostile]}</p>`.html, /<img|onerror="/);
  t.notMatch(prose(`${hostile} \`${hostile}\` [${hostile}](/docs) [x](javascript:alert)`).html, /<img|href="javascript/);
  t.end();
});
