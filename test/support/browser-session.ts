import { createHash, randomBytes } from 'node:crypto';
import type { AudioFrame } from '../../media/audio-frame.ts';
import type { BrowserLegSpec } from '../../src/calls/worker-protocol.ts';
import type { BrowserLeg, BrowserLegEvents } from '../../src/session/browser/browser-leg.ts';
import type { BrowserServer } from '../../src/session/browser/browser-server.ts';
import type { ClientMessage } from '../../src/session/browser/protocol.ts';

/** One expected browser session and what it was told: the media side of a test, without a conversation. */
export interface ExpectedSession {
  leg: BrowserLeg;
  secret: string;
  url: string;
  events: string[];
  control: ClientMessage[];
  /** Copies of all frames that the leg gave on arrival. */
  frames: Int16Array[];
  /** Reads what there is, as a session does on arrival and in its tick. */
  hear(): void;
}

export interface ExpectOptions extends Partial<Pick<BrowserLegSpec, 'allowedOrigins' | 'audio' | 'joinBefore'>> { sessionId?: string }

const PCM_16K = { encoding: 'pcm16', sampleRate: 16_000 } as const;

export function expectSession(server: BrowserServer, options: ExpectOptions = {}): ExpectedSession {
  const secret = randomBytes(32).toString('base64url');
  const sessionId = options.sessionId ?? randomBytes(12).toString('hex');
  const frames: AudioFrame[] = [];
  const events: string[] = [];
  const control: ClientMessage[] = [];
  const hear = (): void => {
    for (let frame = leg.read(); frame; frame = leg.read()) frames.push(frame.slice());
  };
  const listener: BrowserLegEvents = {
    onJoined: () => void events.push('joined'),
    onFrame: hear,
    onControl: (message) => void control.push(message),
    onLost: () => void events.push('lost'),
    onResumed: () => void events.push('resumed'),
  };
  const leg = server.expect(`call-${sessionId}`, {
    kind: 'browser',
    sessionId,
    clientSecretHash: createHash('sha256').update(secret).digest('hex'),
    joinBefore: options.joinBefore ?? Date.now() + 60_000,
    allowedOrigins: options.allowedOrigins ?? [],
    audio: options.audio ?? { input: PCM_16K, output: PCM_16K },
  }, listener);
  return { leg, secret, url: `ws://127.0.0.1:${server.port}/v1/realtime?session=${sessionId}`, events, control, frames, hear };
}

/** `ms` of a sine at half of full scale. */
export function tone(hz: number, ms: number, sampleRate = 16_000): Int16Array {
  return Int16Array.from({ length: Math.floor((sampleRate * ms) / 1000) }, (_, index) => Math.round(16_384 * Math.sin((2 * Math.PI * hz * index) / sampleRate)));
}

/** How much of a signal's energy a sine of `hz` explains, dB of signal to everything else (a least-squares fit). */
export function toneToRestDb(samples: Int16Array, hz: number, sampleRate = 16_000): number {
  let [ss, sc, cc, ys, yc, energy] = [0, 0, 0, 0, 0, 0];
  for (const [index, sample] of samples.entries()) {
    const angle = (2 * Math.PI * hz * index) / sampleRate;
    const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
    ss += sine * sine;
    sc += sine * cosine;
    cc += cosine * cosine;
    ys += sample * sine;
    yc += sample * cosine;
    energy += sample * sample;
  }
  const explained = (ys * ys * cc - 2 * ys * yc * sc + yc * yc * ss) / (ss * cc - sc * sc);
  return 10 * Math.log10(explained / Math.max(1e-9, energy - explained));
}
