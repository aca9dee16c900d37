import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import t from 'tap';
import { realtimePage } from '../../../src/docs/realtime-page.ts';
import { CLIENT_MESSAGES, CLOSE_CODES, REALTIME_LIMITS, SERVER_MESSAGES } from '../../../src/docs/realtime-protocol.ts';
import { BROWSER_LEG_LIMITS } from '../../../src/session/browser/browser-leg.ts';
import { BrowserServer } from '../../../src/session/browser/browser-server.ts';
import { CLOSE, CONNECTION_LIMITS } from '../../../src/session/browser/connection.ts';
import { MAX_QUEUED_MS } from '../../../src/session/browser/heard-queue.ts';
import { MAX_MESSAGE_BYTES, readClientMessage, SUBPROTOCOL } from '../../../src/session/browser/protocol.ts';
import { MAX_MESSAGE_MS, MIN_MESSAGE_MS } from '../../../src/session/browser/sound-format.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../../src/session/browser');
const source = (file: string): string => readFileSync(path.join(FOLDER, file), 'utf8');

/** The members of a union of messages, as the code declares it: each type with its fields. */
function messagesOf(union: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  new Visitor({
    TSTypeAliasDeclaration(node) {
      if (node.id.name !== union || node.typeAnnotation.type !== 'TSUnionType') return;
      for (const member of node.typeAnnotation.types) {
        if (member.type !== 'TSTypeLiteral') continue;
        const fields = member.members.flatMap((field) => (field.type === 'TSPropertySignature' && field.key.type === 'Identifier' ? [field] : []));
        const type = fields.find(({ key }) => key.type === 'Identifier' && key.name === 'type');
        const names = fields.map(({ key }) => (key.type === 'Identifier' ? key.name : '')).filter((name) => name !== 'type');
        const text = source('protocol.ts').slice(type?.typeAnnotation?.start, type?.typeAnnotation?.end);
        for (const [, name = ''] of text.matchAll(/'([^']+)'/g)) found.set(name, names);
      }
    },
  }).visit(parseSync('protocol.ts', source('protocol.ts')).program);
  return found;
}

t.test('the page names every message and every field that the code knows', (t) => {
  const page = realtimePage();
  for (const [union, shown, side] of [['ClientMessage', CLIENT_MESSAGES, 'client'], ['ServerMessage', SERVER_MESSAGES, 'server']] as const) {
    const known = messagesOf(union);
    t.ok(known.size > 8, `${union} was read`);
    t.same(shown.map(({ type }) => type).toSorted(), [...known.keys()].toSorted(), union);
    for (const { type, fields = {} } of shown) {
      t.same(Object.keys(fields).toSorted(), (known.get(type) ?? []).toSorted(), `${type} has the fields that it has`);
      t.match(page, `id="${side}-${type}"`);
    }
  }
  for (const { type } of CLIENT_MESSAGES) t.notMatch(readClientMessage(JSON.stringify({ type })), { code: 'unknown_type' }, `${type} is understood`);
  t.end();
});

t.test('messages that the page reserves are sent by nobody, and all others by somebody', (t) => {
  const senders = ['browser-leg.ts', '../browser-bridge.ts'].map(source).join('\n');
  for (const { type, reserved } of SERVER_MESSAGES) t.equal(senders.includes(`type: '${type}'`), reserved !== true, type);
  t.end();
});

t.test('the page names every close code, warning and error that the code knows', (t) => {
  const page = realtimePage();
  t.same(Object.fromEntries(Object.entries(CLOSE_CODES).map(([code, { name }]) => [name, Number(code)])), CLOSE);
  for (const code of Object.values(CLOSE)) t.match(page, `<b>${code}</b>`);
  const codes = new Set([...`${source('browser-leg.ts')}${source('protocol.ts')}`.matchAll(/(?:code: |misunderstood\()'(\w+)'/g)].map(([, code = '']) => code));
  t.ok(codes.size >= 6);
  for (const code of codes) t.match(page, `<code>${code}</code>`, code);
  t.end();
});

t.test('its numbers are the code\'s', async (t) => {
  t.match(REALTIME_LIMITS, { ...CONNECTION_LIMITS, closeWithinMs: undefined, ...BROWSER_LEG_LIMITS }, 'limits of connections');
  const { subprotocol, maxMessageBytes, minAudioMs, maxAudioMs, maxAheadMs } = REALTIME_LIMITS;
  t.same([subprotocol, maxMessageBytes, minAudioMs, maxAudioMs, maxAheadMs], [SUBPROTOCOL, MAX_MESSAGE_BYTES, MIN_MESSAGE_MS, MAX_MESSAGE_MS, MAX_QUEUED_MS]);
  t.match(source('browser-server.ts'), `startWithinMs: ${REALTIME_LIMITS.startWithinMs}`);
  t.ok(BrowserServer);
});
