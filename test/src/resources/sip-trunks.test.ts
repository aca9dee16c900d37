import t from 'tap';
import { startApiHarness, type Answer } from '../../support/api-harness.ts';

const api = await startApiHarness();
t.teardown(() => api.close());
const create = (body: object): Promise<Answer> => api.call('POST', '/v1/sip-trunks', { body: { name: 'T', ...body } });
const CREDENTIALS = { username: 'wirevoice', password: 'canary-Pa55word' };

t.test('a trunk to a carrier, with every field', async (t) => {
  const body = {
    host: 'sip.example.com', port: 5061, transport: 'tls', outbound_proxy: 'sip:proxy.example.com:5060;lr', ...CREDENTIALS, realm: 'example.com', from_domain: 'example.net',
    caller_id_mode: 'pai', register: { enabled: true, expires_seconds: 600 }, allowed_addresses: ['203.0.113.0/24'], codecs: ['opus', 'G722', 'PCMA'], dtmf_mode: 'info',
    media_encryption: 'required', session_timer_seconds: 90, options_interval_seconds: 10, max_concurrent_calls: 30, calls_per_second: 0.5, number_format: 'strip_plus',
    headers: { 'X-Account': '42' }, direction: 'both',
  };
  const made = await create(body);
  const { password, ...shown } = body;
  t.match(made, { status: 201, body: { ...shown, password_set: true, registration: null, status: 'ok', last_ok_at: null, rtt_ms: null } });
  t.notOk('password' in made.body);
  t.same((await api.call('GET', `/v1/sip-trunks/${made.body.id}`)).body, made.body);
  const [row] = await api.context.db.query<{ text: string }>('SELECT sip_trunk::text AS text FROM sip_trunk WHERE id = $1', [made.body.id]);
  t.notMatch(row?.text, password);
  t.notMatch(api.logged.join(''), password);
});

t.test('defaults, and the direction that follows from what is there', async (t) => {
  t.match((await create({ host: '192.0.2.1' })).body, {
    direction: 'outbound', port: null, transport: 'udp', caller_id_mode: 'from', register: { enabled: false, expires_seconds: 3600 }, codecs: ['PCMU', 'PCMA'], dtmf_mode: 'auto',
    media_encryption: 'disabled', session_timer_seconds: 1800, options_interval_seconds: 60, calls_per_second: null, number_format: 'e164', headers: {}, password_set: false,
  });
  t.match((await create({ allowed_addresses: ['192.0.2.1'] })).body, { direction: 'inbound', host: null });
  t.match((await create({ host: 'pbx.example.com', allowed_addresses: ['192.0.2.1'] })).body, { direction: 'both' });
  t.match((await create(CREDENTIALS)).body, { direction: 'inbound', host: null, password_set: true }, 'a PBX that registers here');
});

t.test('what does not fit together is refused', async (t) => {
  for (const [body, code, param] of [
    [{}, 'missing_parameter', 'allowed_addresses'],
    [{ direction: 'inbound', host: 'x.example' }, 'missing_parameter', 'allowed_addresses'],
    [{ direction: 'outbound', allowed_addresses: ['10.0.0.1'] }, 'missing_parameter', 'host'],
    [{ direction: 'both', allowed_addresses: ['10.0.0.1'] }, 'missing_parameter', 'host'],
    [{ host: 'x.example', password: 'p' }, 'missing_parameter', 'username'],
    [{ host: 'x.example', register: { enabled: true } }, 'missing_parameter', 'username'],
    [{ ...CREDENTIALS, register: { enabled: true } }, 'missing_parameter', 'host'],
    [{ host: 'x.example', register: { enabled: true, expires_seconds: 59 } }, 'invalid_parameter', 'register.expires_seconds'],
    [{ host: 'x.example', headers: { Via: 'x' } }, 'invalid_parameter', 'headers.Via'],
    [{ host: 'x.example', headers: { 'X-A': 'a\r\nVia: b' } }, 'invalid_parameter', 'headers.X-A'],
    [{ host: 'x.example', headers: { 'bad name': 'x' } }, 'invalid_parameter', 'headers'],
    [{ host: 'two words' }, 'invalid_parameter', 'host'],
    [{ host: 'x.example\r\n' }, 'invalid_parameter', 'host'],
    [{ host: 'x.example', port: 0 }, 'invalid_parameter', 'port'],
    [{ host: 'x.example', port: 65_536 }, 'invalid_parameter', 'port'],
    [{ host: 'x.example', transport: 'ws' }, 'invalid_parameter', 'transport'],
    [{ host: 'x.example', session_timer_seconds: 89 }, 'invalid_parameter', 'session_timer_seconds'],
    [{ host: 'x.example', options_interval_seconds: 9 }, 'invalid_parameter', 'options_interval_seconds'],
    [{ host: 'x.example', calls_per_second: 0 }, 'invalid_parameter', 'calls_per_second'],
    [{ host: 'x.example', codecs: ['PCMU', 'PCMU'] }, 'invalid_parameter', 'codecs'],
    [{ host: 'x.example', codecs: [] }, 'invalid_parameter', 'codecs'],
    [{ host: 'x.example', registration: null }, 'unknown_parameter', 'registration'],
    [{ host: 'x.example', username: 'a\nb' }, 'invalid_parameter', 'username'],
  ] as const) t.match(await create(body), { status: 400, body: { error: { code, param } } }, JSON.stringify(body));
  for (const body of [{ session_timer_seconds: 0 }, { session_timer_seconds: 90 }, { options_interval_seconds: 0 }, { options_interval_seconds: 3600 }, { port: 1 }, { port: 65_535 }]) {
    t.match(await create({ host: '[2001:db8::1]', ...body }), { status: 201, body }, JSON.stringify(body));
  }
});

t.test('a change leaves the rest, null is the default, and the whole must still fit', async (t) => {
  const { id } = (await create({ host: 'sip.example.com', ...CREDENTIALS, register: { enabled: true }, headers: { 'X-A': '1' } })).body;
  const change = (body: object): Promise<Answer> => api.call('PATCH', `/v1/sip-trunks/${id}`, { body });
  t.match(await change({ port: 5080 }), { status: 200, body: { port: 5080, host: 'sip.example.com', register: { enabled: true }, password_set: true, headers: { 'X-A': '1' } } });
  t.match(await change({ headers: null, port: null }), { status: 200, body: { headers: {}, port: null } });
  t.match(await change({ password: null }), { status: 400, body: { error: { code: 'missing_parameter' } } }, 'it registers with that password');
  t.match(await change({ password: null, register: null, username: null, direction: 'outbound' }), { status: 200, body: { password_set: false, username: null, register: { enabled: false } } });
  t.match(await change({ host: null }), { status: 400, body: { error: { param: 'host' } } });
  t.match(await change({}), { status: 200, body: { host: 'sip.example.com' } });
});

t.test('the password opens only where it was put', async (t) => {
  const [a, b] = [(await create(CREDENTIALS)).body, (await create(CREDENTIALS)).body];
  const sealed = async (id: string): Promise<Buffer> => (await api.context.db.query<{ password: Buffer }>('SELECT password FROM sip_trunk WHERE id = $1', [id]))[0]?.password ?? Buffer.alloc(0);
  t.equal(api.context.keyring.unseal(await sealed(a.id), `sip_trunk:password:${a.id}`), CREDENTIALS.password);
  t.throws(() => api.context.keyring.unseal(Buffer.alloc(0), `sip_trunk:password:${b.id}`));
  const moved = await sealed(a.id);
  t.throws(() => api.context.keyring.unseal(moved, `sip_trunk:password:${b.id}`));
});
