/** sipp, a user agent we did not write, places calls into ours over UDP and TCP. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { answerOffer } from '../../sip/sdp/answer.ts';
import { UserAgent, type DialogEnd, type InviteDialog } from '../../sip/user-agent.ts';

const CALLS = 100;
const installed = spawnSync('sipp', ['-v']).error === undefined;

/** `branch`: CANCEL and the ACK of a refusal have that of the INVITE, so many messages before. */
const head = (method: string, cseq: number, to: string, branch = '[branch]'): string => `${method} sip:[service]@[remote_ip]:[remote_port] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=${branch}
From: "sipp" <sip:sipp@[local_ip]:[local_port]>;tag=[pid]s[call_number]
To: <sip:[service]@[remote_ip]:[remote_port]>${to}
Call-ID: [call_id]
CSeq: ${cseq} ${method}
Contact: <sip:sipp@[local_ip]:[local_port];transport=[transport]>
Max-Forwards: 70`;

const SDP = `Content-Type: application/sdp
Content-Length: [len]

v=0
o=sipp 1 1 IN IP4 [local_ip]
s=-
c=IN IP4 [local_ip]
t=0 0
m=audio 6000 RTP/AVP 8 0 101
a=rtpmap:101 telephone-event/8000
`;

const send = (text: string, retransmitted = true): string => `<send${retransmitted ? ' retrans="500"' : ''}><![CDATA[\n${text}\n]]></send>`;
const tag = '[peer_tag_param]';

/** INVITE, 180, 200, ACK, hold by re-INVITE, and a BYE from the caller. */
const CALLER_ENDS = `<?xml version="1.0"?><scenario name="caller ends">
${send(`${head('INVITE', 1, '')}\n${SDP}`)}
<recv response="100" optional="true"/><recv response="180" optional="true"/><recv response="200" rrs="true"/>
${send(`${head('ACK', 1, tag)}\nContent-Length: 0\n`, false)}
${send(`${head('INVITE', 2, tag)}\n${SDP}a=sendonly\n`)}
<recv response="100" optional="true"/><recv response="200"><action><ereg regexp="a=recvonly" search_in="msg" check_it="true" assign_to="1"/></action></recv><Reference variables="1"/>
${send(`${head('ACK', 2, tag)}\nContent-Length: 0\n`, false)}
${send(`${head('BYE', 3, tag)}\nContent-Length: 0\n`)}
<recv response="200"/>
</scenario>`;

/** The gateway hangs up. */
const GATEWAY_ENDS = `<?xml version="1.0"?><scenario name="gateway ends">
${send(`${head('INVITE', 1, '')}\n${SDP}`)}
<recv response="100" optional="true"/><recv response="180" optional="true"/><recv response="200" rrs="true"/>
${send(`${head('ACK', 1, tag)}\nContent-Length: 0\n`, false)}
<recv request="BYE"/>
<send><![CDATA[
SIP/2.0 200 OK
[last_Via:]
[last_From:]
[last_To:]
[last_Call-ID:]
[last_CSeq:]
Content-Length: 0

]]></send>
</scenario>`;

/** CANCEL while it rings. */
const CANCELED = `<?xml version="1.0"?><scenario name="canceled">
${send(`${head('INVITE', 1, '')}\n${SDP}`)}
<recv response="100" optional="true"/><recv response="180"/>
${send(`${head('CANCEL', 1, '', '[branch-3]')}\nContent-Length: 0\n`)}
<recv response="200"/><recv response="487"/>
${send(`${head('ACK', 1, tag, '[branch-6]')}\nContent-Length: 0\n`, false)}
</scenario>`;

const SCENARIOS = { caller: CALLER_ENDS, gateway: GATEWAY_ENDS, canceled: CANCELED };

t.test('sipp is installed', async (t) => {
  t.ok(installed, 'sipp is missing: run `apt-get install -y sip-tester`');
});

for (const transport of ['u1', 't1']) {
  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    t.test(`${transport === 'u1' ? 'UDP' : 'TCP'}, ${name}: ${CALLS} calls`, async (t) => {
      if (!installed) return t.fail('sipp is missing: run `apt-get install -y sip-tester`');
      const folder = mkdtempSync(join(tmpdir(), 'sipp-'));
      t.teardown(() => rmSync(folder, { recursive: true }));
      writeFileSync(join(folder, 'scenario.xml'), scenario);
      const ends: unknown[] = [];
      const faults: unknown[] = [];
      const ua = await UserAgent.start({
        host: '127.0.0.1',
        port: 0,
        advertisedAddress: '127.0.0.1',
        admits: (source) => source.address === '127.0.0.1',
        limits: { perSourcePerSecond: 10_000, perSourceBurst: 10_000 },
        onFault: (error) => void faults.push(error),
        onInvite: (invite) => {
          invite.ring();
          invite.signal.addEventListener('abort', () => ends.push((invite.signal.reason as { kind: string }).kind));
          if (name === 'canceled') return;
          const local = { address: '127.0.0.1', port: 30_000, sessionId: '1', version: 1, codecs: ['PCMU', 'PCMA'] as const };
          const answer = answerOffer(invite.offer ?? '', local);
          if (!answer.ok) return invite.reject(answer.status);
          const dialog: InviteDialog = invite.accept(answer.sdp);
          dialog.onReinvite = (offer) => {
            const again = answerOffer(offer ?? '', { ...local, version: 2 });
            return again.ok ? { status: 200, sdp: again.sdp } : { status: again.status };
          };
          dialog.signal.addEventListener('abort', () => ends.push((dialog.signal.reason as DialogEnd).kind));
          if (name === 'gateway') dialog.acknowledged.then(() => dialog.bye()).catch((error: unknown) => faults.push(error));
        },
      });
      t.teardown(() => ua.close());
      const arguments_ = [`127.0.0.1:${ua.port}`, '-sf', 'scenario.xml', '-t', transport, '-i', '127.0.0.1', '-m', String(CALLS), '-r', '100', '-l', '50', '-s', '+4930123456', '-nostdin', '-timeout', '20', '-timeout_error', '-recv_timeout', '5000', '-trace_err'];
      const child = spawn('sipp', arguments_, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, TERM: 'dumb' } });
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-6000)));
      child.stderr.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-6000)));
      const code = await new Promise((resolve) => child.once('close', resolve));
      t.equal(code, 0, code === 0 ? 'every call went as the scenario says' : output);
      t.equal(ends.length, CALLS);
      t.same(new Set(ends), new Set([{ caller: 'remote_bye', gateway: 'local_bye', canceled: 'canceled' }[name]]));
      t.equal(ua.counts().dialogs, 0);
      t.same(faults, []);
    });
  }
}
