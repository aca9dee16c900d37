/** The 49 messages of RFC 4475 (from the npm package `sip`), to the parser and at a live port. */
import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import { parseMessage } from '../../sip/message/parse.ts';
import { agent, settled } from './support/agent.ts';
import { seeded } from './support/random.ts';

const FOLDER = new URL('../../node_modules/sip/test/messages/', import.meta.url);
const file = (name: string): Buffer => readFileSync(new URL(`${name}.dat`, FOLDER));
/** The package keeps the last line end of baddn in a file of its own. */
const read = (name: string): Buffer => (name === 'baddn' ? Buffer.concat([file('baddn'), file('baddn_sep')]) : file(name));

/** What our port says; `silence` for responses and for what cannot be answered. */
type Said = number | 'silence';

/** By section of RFC 4475. An INVITE that is let through is rejected with 486 by this test's user. */
const VALID: Record<string, Said> = {
  // 3.1.1: valid, and to be understood
  wsinv: 481, intmeth: 501, esc01: 486, escnull: 405, esc02: 501, lwsdisp: 200, longreq: 486, dblreq: 405, semiuri: 200, transports: 200, mpart01: 405,
  unreason: 'silence', noreason: 'silence',
  // 3.1.2.12: a Date we do not read; 3.1.2.15, .16: may be tolerated
  baddate: 486, badaspec: 200, baddn: 200,
  // 3.2, 3.3, 3.4: well formed, and wrong or strange in what they ask
  badbranch: 200, unkscm: 416, novelsc: 416, unksm2: 405, bext01: 420, invut: 415, regaut01: 405, bcast: 'silence', zeromf: 200, cparam01: 405, cparam02: 405, regescrt: 405, sdp01: 406,
  inv2543: 486,
};
const INVALID: Record<string, Said> = {
  badinv01: 'silence', clerr: 400, ncl: 400, scalar02: 400, scalarlg: 'silence', quotbal: 400, ltgtruri: 400, lwsruri: 400, lwsstart: 400, trws: 400, escruri: 400,
  regbadct: 400, badvers: 505, mismatch01: 400, mismatch02: 400, bigcode: 'silence', insuf: 400, multi01: 400, mcl01: 400,
};

t.test('all 49 are there', async (t) => {
  t.equal(Object.keys(VALID).length + Object.keys(INVALID).length, 49);
});

t.test('the parser accepts the valid and refuses the invalid', async (t) => {
  for (const name of Object.keys(VALID)) t.equal(parseMessage(read(name)).kind, 'message', name);
  for (const [name, said] of Object.entries(INVALID)) {
    const parsed = parseMessage(read(name));
    t.equal(parsed.kind, 'malformed', name);
    t.equal(parsed.kind === 'malformed' ? (parsed.reply?.status ?? 'silence') : 'accepted', said, `${name}: ${parsed.kind === 'malformed' ? parsed.reason : ''}`);
  }
});

t.test('the hard ones are understood, not just let through', async (t) => {
  const message = (name: string) => {
    const parsed = parseMessage(read(name));
    if (parsed.kind !== 'message') throw new Error(parsed.reason);
    return parsed.message;
  };
  t.match(message('wsinv'), { from: { displayName: 'J Rosenberg \\"', tag: '98asjd8' }, to: { tag: '1918181833n' }, cseq: { number: 9 }, maxForwards: 68, contact: { displayName: 'Quoted string ""' } });
  t.equal(message('wsinv').headers.list('via').length, 3);
  t.match(message('intmeth'), { method: "!interesting-Method0123456789_*+`.%indeed'~", to: { displayName: 'BEL:\x07 NUL:\x00 DEL:\x7f' } });
  t.match(message('esc01'), { uri: { user: 'sips%3Auser%40example.com', host: 'example.net' } });
  t.match(message('semiuri'), { uri: { user: 'user;par=u%40example.net', host: 'example.com' } });
  t.equal(message('dblreq').body.length, 0);
  t.equal(message('longreq').headers.list('via').length, 34);
  t.match(message('noreason'), { status: 100, reason: '' });
});

t.test('thrown at a live port, each gets its verdict and the port lives on', async (t) => {
  const { udp, trace, invites, faults, clock, ua } = await agent(t, { limits: { perSourceBurst: 100_000, perSourcePerSecond: 100_000 }, onInvite: (invite) => invite.reject(486) });
  const peer = await udp('127.0.0.9');
  for (const [name, said] of Object.entries({ ...VALID, ...INVALID })) {
    await settled(peer);
    trace.length = 0;
    peer.send(read(name));
    await settled(peer);
    const answers = trace.filter((entry) => entry.direction === 'out' && !entry.callId.startsWith('barrier')).map((entry) => Number(entry.summary.split(' ')[0]));
    t.same(answers.filter((status) => status >= 200), said === 'silence' ? [] : [said], name);
  }
  for (const name of readdirSync(FOLDER).filter((entry) => entry.endsWith('.dat'))) peer.send(readFileSync(new URL(name, FOLDER)));
  await settled(peer);
  t.equal(invites.length, 0);
  t.same(faults, []);
  clock.advance(200_000);
  t.same(ua.counts(), { dialogs: 0, transactions: 0, connections: 0 });
});

t.test('random bytes and mutations at the live ports: no fault, nothing left over', async (t) => {
  const { udp, tcp, faults, clock, ua } = await agent(t, { limits: { perSourceBurst: 1_000_000, perSourcePerSecond: 1_000_000 }, onInvite: (invite) => invite.reject(486) });
  const peer = await udp('127.0.0.9');
  const random = seeded(20_260_101);
  const names = Object.keys({ ...VALID, ...INVALID });
  for (let i = 0; i < 3000; i++) {
    const bytes = random(3) === 0 ? Buffer.from(Array.from({ length: random(300) }, () => random(256))) : Buffer.from(read(names[random(names.length)]!));
    for (let n = random(8); n > 0 && bytes.length > 0; n--) bytes[random(bytes.length)] = random(256);
    peer.send(bytes);
    if (i % 100 === 99) await settled(peer);
  }
  for (const name of names) {
    const connection = await tcp();
    connection.send(read(name));
    await connection.close();
  }
  const probe = await tcp();
  await settled(probe);
  t.same(faults, []);
  await probe.close();
  clock.advance(200_000);
  await settled(peer);
  clock.advance(64_000);
  t.same(ua.counts(), { dialogs: 0, transactions: 0, connections: 0 });
});
