import t from 'tap';
import { readSettings, settingsAsMarkdown } from '../../config/settings.ts';

t.test('an empty environment gives the documented defaults', (t) => {
  const settings = readSettings({});
  t.equal(settings.port, 8080);
  t.equal(settings.publicUrl, 'http://localhost:8080');
  t.equal(settings.browserPorts, 8081);
  t.same(settings.rtpPorts, { from: 20_000, to: 29_999 });
  t.same(settings.allowPrivateAddresses, []);
  t.equal(settings.maxCallsPerCore, 6);
  t.end();
});

t.test('what is set is read', (t) => {
  const settings = readSettings({ PORT: '9000', PUBLIC_URL: 'https://voice.example.com/', ALLOW_PRIVATE_ADDRESSES: '127.0.0.1:9000, [::1]:80', LLM_BASE_URL: 'http://127.0.0.1:11434/v1', LLM_MODEL: 'm', MASTER_KEY: 'ab'.repeat(32) });
  t.match(settings, { port: 9000, publicUrl: 'https://voice.example.com', allowPrivateAddresses: ['127.0.0.1:9000', '[::1]:80'], llmModel: 'm', browserPorts: 9001 });
  t.end();
});

const wrong: Record<string, Record<string, string>> = {
  PORT: { PORT: '80.5' }, SIP_PORT: { SIP_PORT: '70000' }, RTP_PORTS: { RTP_PORTS: '20000' }, PUBLIC_URL: { PUBLIC_URL: 'ftp://x' },
  DATABASE_URL: { DATABASE_URL: 'mysql://x' }, MASTER_KEY: { MASTER_KEY: 'short' }, MEDIA_WORKERS: { MEDIA_WORKERS: '-1' },
  ALLOW_PRIVATE_ADDRESSES: { ALLOW_PRIVATE_ADDRESSES: 'localhost' }, LOG_LEVEL: { LOG_LEVEL: 'loud' }, LLM_MODEL: { LLM_BASE_URL: 'http://x/v1' },
  DRAIN_SECONDS: { DRAIN_SECONDS: 'soon' }, STRIPE_WEBHOOK_SECRET: { STRIPE_SECRET_KEY: 'sk_test_x' }, STRIPE_API_BASE: { STRIPE_API_BASE: 'stripe.com' }, MEDIA_TIMEOUT_SECONDS: { MEDIA_TIMEOUT_SECONDS: '0' },
};
for (const [name, env] of Object.entries(wrong)) {
  t.test(`a wrong ${name} is refused by name`, (t) => {
    t.throws(() => readSettings(env), { name: 'SettingError', message: new RegExp(name) });
    t.end();
  });
}

t.test('a secret is never repeated in the message', (t) => {
  try {
    readSettings({ MASTER_KEY: 'canary-secret' });
    t.fail('accepted');
  } catch (error) {
    t.notMatch(String(error), /canary/);
  }
  t.end();
});

t.test('the table documents every setting', (t) => {
  for (const name of ['PORT', 'PUBLIC_ADDRESS', 'RTP_PORTS', 'DATABASE_URL', 'MAX_CALLS_PER_CORE']) t.match(settingsAsMarkdown(), `\`${name}\``);
  t.end();
});

t.test('rate limits', (t) => {
  t.match(readSettings({}).rateLimits, { read: 100, write: 25, call: 5 });
  t.same(readSettings({ RATE_LIMITS: 'read=1000, call=0.5' }).rateLimits, { read: 1000, call: 0.5 });
  for (const wrong of ['read', 'read=', 'read=-1', 'read=0', 'read=fast', 'reads=1', 'read=1;write=2']) t.throws(() => readSettings({ RATE_LIMITS: wrong }), /RATE_LIMITS.*read=100/, wrong);
  t.end();
});
