import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { wavHeader } from '../../media/wav.ts';
import { readSpeechFile } from './speech-fixtures.ts';

/** A call as the softphone lived it. Sound is mono PCM16 at 8 kHz. */
export interface SoftphoneCall {
  /** What it decoded from RTP, from its first packet. */
  heard: Int16Array;
  /** What it sent, before encoding. */
  sent: Int16Array;
  /** Its console, for a failed test's message. */
  output: string;
}

export interface Softphone {
  /** Resolves when the call is over and the program has left; rejects when there was no call or it took too long. */
  done: Promise<SoftphoneCall>;
  stop(): void;
}

const EXECUTABLE = '/usr/bin/baresip';
const MODULES = '/usr/lib/baresip/modules';
const MAX_OUTPUT = 20_000;

/**
 * Debian's baresip, a softphone we did not write: calls `uri` with a microphone that plays `microphone` once (8 kHz) and hangs
 * up at its end, unless the other side does before.
 */
export function callWithBaresip(options: { uri: string; microphone: Int16Array; withinMs: number; codec?: 'pcmu' | 'pcma' }): Softphone {
  if (!existsSync(EXECUTABLE)) throw new Error(`This test drives ${EXECUTABLE}, which is missing. Run: apt-get install -y baresip-core`);
  const folder = mkdtempSync(join(tmpdir(), 'wv-baresip-'));
  writeConfiguration(folder, options.codec ?? 'pcmu', options.microphone);
  const child = spawn(EXECUTABLE, ['-f', folder, '-e', `/dial ${options.uri}`], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  return { done: live(child, folder, options.withinMs), stop: () => void child.kill('SIGKILL') };
}

/** The same softphone, called: answers at once as `user` on this UDP and TCP port, and hangs up at the end of its microphone. */
export async function answerWithBaresip(options: { user: string; port: number; microphone: Int16Array; withinMs: number }): Promise<Softphone> {
  if (!existsSync(EXECUTABLE)) throw new Error(`This test drives ${EXECUTABLE}, which is missing. Run: apt-get install -y baresip-core`);
  const folder = mkdtempSync(join(tmpdir(), 'wv-baresip-'));
  writeConfiguration(folder, 'pcmu', options.microphone, { port: options.port, account: `<sip:${options.user}@127.0.0.1>;regint=0;answermode=auto;audio_codecs=pcmu` });
  const child = spawn(EXECUTABLE, ['-f', folder], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  const ready = new Promise<void>((resolve, reject) => {
    let seen = '';
    child.stdout.on('data', (chunk: Buffer) => {
      seen += chunk.toString('utf8');
      if (seen.includes('baresip is ready')) resolve();
    });
    child.once('close', () => reject(new Error(`baresip left before it was ready:\n${readable(seen)}`)));
  });
  const done = live(child, folder, options.withinMs);
  done.catch(() => undefined);
  await ready;
  return { done, stop: () => void child.kill('SIGKILL') };
}

async function live(child: ChildProcess, folder: string, withinMs: number): Promise<SoftphoneCall> {
  let output = '';
  let late = false;
  const read = (chunk: Buffer): void => {
    output = (output + chunk.toString('utf8')).slice(-MAX_OUTPUT);
    // The prompt stays open after a call.
    if (/terminated \(duration|session closed|error/i.test(output)) child.kill('SIGTERM');
  };
  child.stdout?.on('data', read);
  child.stderr?.on('data', read);
  const timer = setTimeout(() => {
    late = true;
    child.kill('SIGKILL');
  }, withinMs);
  try {
    await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));
    if (late || !output.includes('Call established')) throw new Error(`baresip ${late ? `took more than ${withinMs} ms` : 'had no call'}:\n${readable(output)}`);
    return { heard: recorded(folder, 'dec'), sent: recorded(folder, 'enc'), output: readable(output) };
  } finally {
    clearTimeout(timer);
    rmSync(folder, { recursive: true, force: true });
  }
}

function recorded(folder: string, side: 'dec' | 'enc'): Int16Array {
  const file = readdirSync(folder).find((name) => name.endsWith(`-${side}.wav`));
  return file === undefined ? new Int16Array() : readSpeechFile(join(folder, file), 8000);
}

/** Without the meter that it redraws five times a second. */
function readable(output: string): string {
  return output.replace(/[^\n]*\r|\[\d:\d\d:\d\d\] audio=\S+ \(bit\/s\)\s*/g, '').trim();
}

function writeConfiguration(folder: string, codec: string, microphone: Int16Array, called = { port: 0, account: '' }): void {
  const sound = Buffer.from(microphone.buffer, microphone.byteOffset, microphone.byteLength);
  writeFileSync(join(folder, 'microphone.wav'), Buffer.concat([wavHeader({ sampleRate: 8000, channels: 1, dataBytes: sound.length }), sound]));
  writeFileSync(join(folder, 'accounts'), `${called.account === '' ? `<sip:caller@127.0.0.1>;regint=0;audio_codecs=${codec}` : called.account}\n`);
  writeFileSync(join(folder, 'contacts'), '');
  writeFileSync(join(folder, 'config'), [
    'poll_method epoll',
    `sip_listen 127.0.0.1:${called.port}`,
    'net_interface 127.0.0.1',
    'rtp_ports 26000-26200',
    `audio_source aufile,${join(folder, 'microphone.wav')}`,
    'ausrc_srate 8000',
    'auplay_srate 8000',
    'ausrc_channels 1',
    'auplay_channels 1',
    'audio_buffer 20-160',
    `snd_path ${folder}`,
    `module_path ${MODULES}`,
    'module_tmp account.so',
    'module g711.so',
    'module aufile.so',
    'module sndfile.so',
    'module_app menu.so',
    '',
  ].join('\n'));
}
