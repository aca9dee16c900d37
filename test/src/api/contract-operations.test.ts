import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { settingsAsMarkdown } from '../../../config/settings.ts';
import { makeKeyring, readMasterKey } from '../../../src/api/keyring.ts';
import { openAddressGuard } from '../../../src/events/address-guard.ts';

t.test('every setting that is published is in the one table, with its default', (t) => {
  const table = settingsAsMarkdown();
  for (const [name, fallback] of [
    ['PORT', '8080'], ['HOST', '0.0.0.0'], ['PUBLIC_URL', ''], ['SIP_PORT', '5060'], ['PUBLIC_ADDRESS', '127.0.0.1'], ['RTP_PORTS', '20000-29999'], ['DATA_DIR', './data'], ['DATABASE_URL', ''], ['MASTER_KEY', ''],
    ['MEDIA_WORKERS', '0'], ['DRAIN_SECONDS', '300'], ['ALLOW_PRIVATE_ADDRESSES', ''], ['LLM_BASE_URL', ''], ['LLM_API_KEY', ''], ['LLM_MODEL', ''], ['ACCOUNT_CONCURRENCY', '20'], ['MAX_CALLS_PER_CORE', '6'], ['MAX_VOICES_PER_ACCOUNT', '50'],
  ] as const) t.ok(table.includes(`| \`${name}\` | ${fallback === '' ? '' : `\`${fallback}\``} |`), name);
  t.end();
});

t.test('a wrong setting stops the start with a sentence that names it', async (t) => {
  for (const [name, value] of [['SIP_PORT', 'canary'], ['RTP_PORTS', '1-2'], ['ALLOW_PRIVATE_ADDRESSES', 'canary']] as const) {
    const child = spawn(process.execPath, [join(import.meta.dirname, '../../../src/main.ts')], { env: { ...process.env, DATA_DIR: t.testdir(), [name]: value }, stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (chunk: string) => { text += chunk; });
    const [code] = (await once(child, 'close')) as [number];
    t.equal(code, 2, name);
    t.match(text, new RegExp(`^${name} must be .+\\.\n$`));
    t.notMatch(text, 'canary', 'what was given is not repeated');
  }
});

t.test('what the operator lets through is logged at the start', (t) => {
  const logged: unknown[] = [];
  const log = { info: (detail: object, message: string) => { logged.push([detail, message]); } };
  const guard = openAddressGuard(['127.0.0.1:9000'], log);
  t.ok(guard.allows(new URL('http://127.0.0.1:9000/')));
  t.match(logged, [[{ allowed: ['127.0.0.1:9000'] }, /ALLOW_PRIVATE_ADDRESSES/]]);
  openAddressGuard([], log);
  t.equal(logged.length, 1);
  t.end();
});

t.test('the master key: a file that only its owner reads, made once', (t) => {
  const dataDir = t.testdir();
  const made = readMasterKey('', dataDir);
  t.equal(made.length, 32);
  const file = join(dataDir, 'master.key');
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.same(readMasterKey('', dataDir), made, 'the same at the next start');
  t.same(readMasterKey('ab'.repeat(32), dataDir), Buffer.alloc(32, 0xab), 'one that is given comes first');
  t.same(readMasterKey(Buffer.alloc(32, 7).toString('base64'), dataDir), Buffer.alloc(32, 7));
  writeFileSync(file, 'short\n');
  t.throws(() => readMasterKey('', dataDir), /master\.key does not hold a master key of 32 bytes/);
  t.equal(readFileSync(file, 'utf8'), 'short\n', 'and is not replaced: everything stored depends on it');
  t.end();
});

t.test('secrets at rest: sealed, each to its place', (t) => {
  const keyring = makeKeyring(randomBytes(32));
  const sealed = keyring.seal('canary', 'table:column:1');
  t.notOk(sealed.includes('canary'));
  t.not(sealed.toString('hex'), keyring.seal('canary', 'table:column:1').toString('hex'), 'never the same twice');
  t.equal(keyring.unseal(sealed, 'table:column:1'), 'canary');
  t.throws(() => keyring.unseal(sealed, 'table:column:2'), 'moved');
  t.throws(() => makeKeyring(randomBytes(32)).unseal(sealed, 'table:column:1'), 'another master key');
  for (let byte = 0; byte < sealed.length; byte++) {
    const changed = Buffer.from(sealed);
    changed[byte] = (changed[byte] ?? 0) ^ 1;
    t.throws(() => keyring.unseal(changed, 'table:column:1'), `byte ${byte}`);
  }
  t.end();
});
