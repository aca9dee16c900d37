/** Each rule of import-rules.ts bites: one file breaks one rule, and the finding names both. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { ARROWS, checkTree } from './import-rules.ts';

const root = path.resolve(import.meta.dirname, '../..');

function tree(dir: string, files: Record<string, string>): string {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.join(dir, path.dirname(file)), { recursive: true });
    writeFileSync(path.join(dir, file), text);
  }
  return dir;
}

/** rule, file, what it says. */
const ARROWS_FORBIDDEN: [string, string, string][] = [
  ['media-imports-nothing', 'media/codec/deep/g711.ts', "import { x } from '../../../src/end-reason.ts';"],
  ['media-imports-nothing', 'media/a.ts', "import type { X } from '../sip/b.ts';"],
  ['media-imports-nothing', 'media/a.ts', "import { settings } from '../config/settings.ts';"],
  ['sip-imports-nothing', 'sip/sdp/a.ts', "import type { AudioFrame } from '../../media/audio-frame.ts';"],
  ['sip-imports-nothing', 'sip/sdp/a.ts', "type F = import('../../media/audio-frame.ts').AudioFrame;"],
  ['config-imports-nothing', 'config/settings.ts', "import '../src/app.ts';"],
  ['config-at-the-doors-only', 'src/app.ts', "import { settings } from '../config/settings.ts';"],
  ['worker-side', 'src/session/phone-leg.ts', "import { SipMessage } from '../../sip/message.ts';"],
  ['worker-side', 'src/session/a.ts', "export { list } from '../resources/calls/store.ts';"],
  ['worker-side', 'src/conversation/a.ts', "const m = await import('../db/database.ts');"],
  ['worker-side', 'src/engines/stt/a.ts', "export * from '../../api/errors.ts';"],
  ['worker-side', 'src/engines/a.ts', "import '../calls/phone-gateway.ts';"],
  ['worker-side', 'src/worker.ts', "import './events/webhook.ts';"],
  ['control-side', 'src/calls/a.ts', "import type { CallSession } from '../session/call-session.ts';"],
  ['control-side', 'src/resources/calls/a.ts', "import { x } from '../../conversation/x.ts';"],
  ['control-side', 'src/api/a.ts', "import { SAMPLE_RATE } from '../../media/audio-frame.ts';"],
  ['protocol-stands-alone', 'src/calls/worker-protocol.ts', "import type { X } from '../engines/engine.ts';"],
  ['resources-own-live-calls', 'src/resources/calls/a.ts', "import type { X } from '../../calls/worker-protocol.ts';"],
  ['one-sql-file', 'src/resources/calls/actions.ts', "import { findAgent } from '../agents/store.ts';"],
  ['tests-stay-outside', 'src/app.ts', "import '../test/support/clock.ts';"],
];

t.test('a forbidden arrow is found, from any depth and of any kind of import', (t) => {
  for (const [index, [rule, file, text]] of ARROWS_FORBIDDEN.entries()) {
    const { findings } = checkTree(tree(path.join(t.testdir(), String(index)), { [file]: `// one line before\n${text}\n` }));
    t.ok(findings.some((finding) => finding.rule === rule && finding.file === file && finding.line === 2), `${rule}: ${file}: ${text}`);
  }
  t.strictSame(new Set(ARROWS_FORBIDDEN.map(([rule]) => rule)), new Set(ARROWS.map((arrow) => arrow.rule)), 'no rule without a proof');
  t.end();
});

t.test('what the architecture allows is no finding', (t) => {
  const dir = tree(t.testdir(), {
    'media/rtp/rtp-session.ts': "import { X } from '../audio-frame.ts';\nexport const a = \"import '../../src/app.ts'\"; // import '../../src/app.ts'",
    'media/audio-frame.ts': 'export const X = 1;',
    'media/wav.ts': 'export const W = 1;',
    'src/main.ts': "import '../config/settings.ts'; import './session/call-session.ts';",
    'config/settings.ts': 'export const s = 1;',
    'src/session/call-session.ts': "import type { ToWorker } from '../calls/worker-protocol.ts'; import '../../media/rtp/rtp-session.ts';",
    'src/calls/worker-protocol.ts': "import type { EndReason } from '../end-reason.ts'; export type ToWorker = EndReason;",
    'src/end-reason.ts': "export type EndReason = 'x';",
    'src/calls/phone-gateway.ts': "import '../../sip/user-agent.ts'; import '../resources/calls/actions.ts';",
    'sip/user-agent.ts': 'export const u = 1;',
    'src/resources/calls/actions.ts': "import './store.ts'; import '../../../media/wav.ts';",
    'src/resources/calls/store.ts': 'export function serviceUnavailable() {} export class ServiceVersion {}',
    'src/api/service-version.ts': 'export interface Utterance { text: string }',
  });
  t.strictSame(checkTree(dir), { files: 13, findings: [] });
  t.end();
});

t.test('a cycle is named in full, type-only imports included', (t) => {
  const dir = tree(t.testdir(), {
    'src/a.ts': "import type { B } from './b.ts'; export type A = B;",
    'src/b.ts': "import './calls/c.ts'; export type B = 1;",
    'src/calls/c.ts': "import type { A } from '../a.ts'; export type C = A;",
    'src/d.ts': "import './a.ts';",
  });
  t.match(checkTree(dir).findings, [{ rule: 'no-cycle', file: 'src/calls/c.ts', message: 'src/a.ts -> src/b.ts -> src/calls/c.ts -> src/a.ts' }]);
  t.end();
});

t.test('vague words, barrels and odd file names are found', (t) => {
  const cases: [string, string, string][] = [
    ['vague-word', 'src/call-manager.ts', ''],
    ['vague-word', 'src/utils/text.ts', ''],
    ['vague-word', 'media/helpers.ts', ''],
    ['vague-word', 'src/calls/call-service.ts', ''],
    ['vague-word', 'src/calls/a.ts', 'export class CallManager {}'],
    ['vague-word', 'src/calls/a.ts', 'interface AudioHelper { x: 1 }'],
    ['vague-word', 'src/calls/a.ts', 'type CallService = 1;'],
    ['vague-word', 'src/calls/a.ts', 'function inviteHandler2() {}'],
    ['vague-word', 'src/calls/a.ts', 'class StringUtils {}'],
    ['no-barrel', 'src/calls/index.ts', ''],
    ['kebab-case', 'src/calls/PhoneCall.ts', ''],
  ];
  for (const [index, [rule, file, text]] of cases.entries()) {
    const { findings } = checkTree(tree(path.join(t.testdir(), String(index)), { [file]: text }));
    t.match(findings, [{ rule, file }], `${rule}: ${file} ${text}`);
  }
  t.end();
});

t.test('a file that does not parse is an error, not a pass', (t) => {
  t.throws(() => checkTree(tree(t.testdir(), { 'src/a.ts': 'import { from' })), /src\/a\.ts does not parse/);
  t.end();
});

t.test('the real tree holds the rules', (t) => {
  const { files, findings } = checkTree(root);
  t.ok(files > 50, `${files} files read`);
  t.strictSame(findings, []);
  t.end();
});
