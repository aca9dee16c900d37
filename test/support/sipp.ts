import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** How a run of sipp went. */
export interface SippRun {
  /** 0: every call went as the scenario says. */
  code: number | null;
  /** The end of its screens and of its error file. */
  output: string;
}

export interface Sipp {
  done: Promise<SippRun>;
  /** Kills it as a crash would: no BYE, no more RTP. */
  kill(): Promise<void>;
}

export interface SippOptions {
  /** UDP port of the gateway on loopback, and the number to call. */
  port: number;
  number: string;
  /** Steps made by the functions below. */
  steps: string[];
  /** User of the From header: how a test finds its call. */
  caller: string;
  /** G.711 to play, by file name. */
  sounds?: Record<string, Uint8Array>;
  withinMs: number;
}

const EXECUTABLE = '/usr/bin/sipp';
const MAX_OUTPUT = 3000;

/** Debian's sipp as one telephone that does what the steps say. */
export function sipp(options: SippOptions): Sipp {
  if (!existsSync(EXECUTABLE)) throw new Error(`This test drives ${EXECUTABLE}, which is missing. Run: apt-get install -y sip-tester`);
  const folder = mkdtempSync(join(tmpdir(), 'wv-sipp-'));
  for (const [name, bytes] of Object.entries(options.sounds ?? {})) writeFileSync(join(folder, name), bytes);
  const steps = options.steps.join('\n').replaceAll('[caller]', options.caller);
  writeFileSync(join(folder, 'scenario.xml'), `<?xml version="1.0" encoding="ISO-8859-1"?>\n<scenario name="${options.caller}">\n${steps}\n</scenario>\n`);
  const seconds = Math.ceil(options.withinMs / 1000);
  const child = spawn(EXECUTABLE, [
    `127.0.0.1:${options.port}`, '-s', options.number, '-sf', 'scenario.xml', '-i', '127.0.0.1', '-mi', '127.0.0.1', '-m', '1', '-nostdin',
    '-timeout', String(seconds), '-timeout_error', '-recv_timeout', String(options.withinMs), '-trace_err',
  ], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, TERM: 'dumb' } });
  let output = '';
  const read = (chunk: Buffer): void => { output = (output + chunk.toString('latin1')).slice(-MAX_OUTPUT); };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  const late = setTimeout(() => child.kill('SIGKILL'), options.withinMs + 2000);
  const done = new Promise<SippRun>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      clearTimeout(late);
      rmSync(folder, { recursive: true, force: true });
      resolve({ code, output });
    });
  });
  return {
    done,
    async kill() {
      child.kill('SIGKILL');
      await done;
    },
  };
}

/** `branch`: CANCEL and the ACK of a refusal take that of the INVITE, so many messages before. */
const head = (method: string, cseq: number, to: string, branch = '[branch]'): string => `${method} sip:[service]@[remote_ip]:[remote_port] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=${branch}
From: <sip:[caller]@[local_ip]:[local_port]>;tag=[pid]s[call_number]
To: <sip:[service]@[remote_ip]:[remote_port]>${to}
Call-ID: [call_id]
CSeq: ${cseq} ${method}
Contact: <sip:[caller]@[local_ip]:[local_port];transport=[transport]>
Max-Forwards: 70`;

const TAG = '[peer_tag_param]';
const send = (text: string, options = ''): string => `<send${options}><![CDATA[\n${text}\n]]></send>`;

/** INVITE with PCMU, PCMA and telephone-event; the telephone listens where sipp's RTP comes from. `payloads` to offer something else. */
export const invite = (payloads = '0 8 101', maps = 'a=rtpmap:101 telephone-event/8000'): string => send(`${head('INVITE', 1, '')}
Content-Type: application/sdp
Content-Length: [len]

v=0
o=sipp 1 1 IN IP4 [local_ip]
s=-
c=IN IP4 [media_ip]
t=0 0
m=audio [rtpstream_audio_port] RTP/AVP ${payloads}
${maps}
`, ' retrans="500"');

/** 100 and 180 may come, 200 must; then ACK. */
export const answered = (): string => `<recv response="100" optional="true"/><recv response="180" optional="true"/><recv response="200" rtd="true"/>
${send(`${head('ACK', 1, TAG)}\nContent-Length: 0\n`)}`;

/** A final refusal and its ACK; `check` is a regular expression that the message must match. */
export const refused = (status: number, check = 'SIP/2.0'): string => `<recv response="100" optional="true"/><recv response="180" optional="true"/>
<recv response="${status}"><action><ereg regexp="${check}" search_in="msg" check_it="true" assign_to="found"/></action></recv><Reference variables="found"/>
${send(`${head('ACK', 1, TAG, '[branch-4]')}\nContent-Length: 0\n`)}`;

/** Plays a file of G.711 mu-law from `sounds` in real time, once, while the steps go on. */
export const play = (file: string): string => `<nop><action><exec rtp_stream="${file},1,0,PCMU/8000"/></action></nop>`;

export const pause = (ms: number): string => `<pause milliseconds="${ms}"/>`;

/** The caller hangs up. */
export const bye = (): string => `${send(`${head('BYE', 2, TAG)}\nContent-Length: 0\n`, ' retrans="500"')}<recv response="200"/>`;

/** The caller gives up while it rings: CANCEL follows the first provisional answer at once. */
export const cancel = (): string => `<recv response="100"/>
${send(`${head('CANCEL', 1, '', '[branch-2]')}\nContent-Length: 0\n`, ' retrans="500"')}
<recv response="180" optional="true"/><recv response="200"/><recv response="487"/>
${send(`${head('ACK', 1, TAG, '[branch-6]')}\nContent-Length: 0\n`)}`;

/** The gateway hangs up. */
export const hungUp = (): string => `<recv request="BYE"/>
${send(`SIP/2.0 200 OK
[last_Via:]
[last_From:]
[last_To:]
[last_Call-ID:]
[last_CSeq:]
Content-Length: 0
`)}`;
