/** We call sipp, a user agent we did not write. */
import { spawn, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { UserAgent } from '../../sip/user-agent.ts';
import { SDP } from './support/sip-peer.ts';

const installed = spawnSync('sipp', ['-v']).error === undefined;

const RESPONSE = (status: string, more = ''): string => `<send><![CDATA[
SIP/2.0 ${status}
[last_Via:]
[last_From:]
[last_To:];tag=[pid]s[call_number]
[last_Call-ID:]
[last_CSeq:]
Contact: <sip:callee@[local_ip]:[local_port];transport=[transport]>
${more}
]]></send>`;
const NO_BODY = 'Content-Length: 0\n';
const WITH_SDP = `Content-Type: application/sdp
Content-Length: [len]

v=0
o=sipp 1 1 IN IP4 [local_ip]
s=-
c=IN IP4 [local_ip]
t=0 0
m=audio 6000 RTP/AVP 0`;
const BYE = `<recv request="BYE"/>${RESPONSE('200 OK', NO_BODY).replace(';tag=[pid]s[call_number]', '')}`;
const SCENARIOS: Record<string, { steps: string; ends: string }> = {
  answers: { steps: `<recv request="INVITE"/>${RESPONSE('180 Ringing', NO_BODY)}${RESPONSE('200 OK', WITH_SDP)}<recv request="ACK"/>${BYE}`, ends: 'answered' },
  busy: { steps: `<recv request="INVITE"/>${RESPONSE('486 Busy Here', NO_BODY)}<recv request="ACK"/>`, ends: 'refused' },
  challenges: {
    steps: `<recv request="INVITE"/>${RESPONSE('407 Proxy Authentication Required', `Proxy-Authenticate: Digest realm="sipp", nonce="47ebe028cda119c35d4877b383027d28da013815", qop="auth", algorithm=MD5\n${NO_BODY}`)}<recv request="ACK"/>
<recv request="INVITE"><action><ereg regexp="username=.u.*nc=00000001" search_in="hdr" header="Proxy-Authorization:" check_it="true" assign_to="1"/></action></recv><Reference variables="1"/>${RESPONSE('200 OK', WITH_SDP)}<recv request="ACK"/>${BYE}`,
    ends: 'answered',
  },
  'is canceled': {
    steps: `<recv request="INVITE"><action><ereg regexp=".*" search_in="hdr" header="CSeq:" assign_to="1"/></action></recv><Reference variables="1"/>${RESPONSE('180 Ringing', NO_BODY)}
<recv request="CANCEL"/>${RESPONSE('200 OK', NO_BODY)}
${RESPONSE('487 Request Terminated', NO_BODY).replace('[last_CSeq:]', 'CSeq: 1 INVITE')}<recv request="ACK"/>`,
    ends: 'canceled',
  },
};

for (const [name, { steps, ends }] of Object.entries(SCENARIOS)) {
  t.test(`sipp ${name}`, async (t) => {
    if (!installed) return t.fail('sipp is missing: run `apt-get install -y sip-tester`');
    const folder = mkdtempSync(join(tmpdir(), 'sipp-'));
    t.teardown(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'scenario.xml'), `<?xml version="1.0"?><scenario name="${name}">${steps}</scenario>`);
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    await once(socket, 'listening');
    const { port } = socket.address();
    await new Promise<void>((resolve) => socket.close(() => resolve()));
    const ua = await UserAgent.start({ host: '127.0.0.1', port: 0, advertisedAddress: '127.0.0.1', admits: () => false, onInvite: (invite) => invite.reject(404) });
    t.teardown(() => ua.close());
    const child = spawn('sipp', ['-sf', 'scenario.xml', '-i', '127.0.0.1', '-p', String(port), '-m', '1', '-nostdin', '-timeout', '15', '-timeout_error', '-trace_err'], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, TERM: 'dumb' } });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-4000)));
    const left = new Promise((resolve) => child.once('close', resolve));
    // sipp may not listen yet: the first INVITE is then repeated after half a second.
    const invite = ua.invite({ uri: `sip:+15550100@127.0.0.1:${port}`, from: '<sip:+15550111@gateway.example>', sdp: SDP, transport: 'udp', credentials: { username: 'u', password: 'p' }, onProgress: () => void (ends === 'canceled' && invite.cancel()) });
    const outcome = await invite.outcome;
    t.equal(outcome.kind, ends);
    if (outcome.kind === 'answered') await outcome.dialog.bye();
    const code = await left;
    t.equal(code, 0, code === 0 ? 'as the scenario says' : output);
    t.equal(ua.counts().dialogs, 0);
  });
}
