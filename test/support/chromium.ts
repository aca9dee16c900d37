import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { wavHeader } from '../../media/wav.ts';

const EXECUTABLE = '/usr/bin/chromium';
const LAUNCH_TIMEOUT_MS = 30_000;
const ACTION_TIMEOUT_MS = 10_000;

/** Nothing that reaches beyond this machine, and a microphone that plays a file. */
const ARGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
  '--use-fake-ui-for-media-stream', '--use-fake-device-for-media-stream', '--autoplay-policy=no-user-gesture-required',
];

export interface ChromiumOptions {
  /** WAV file that the microphone plays once; absent: the browser's own beeps. */
  microphone?: string;
  /** The whole visit is cut after so long. */
  timeoutMs?: number;
  viewport?: { width: number; height: number };
  colorScheme?: 'light' | 'dark';
}

export interface Visit {
  page: Page;
  context: BrowserContext;
  /** What the console said in error or warning, uncaught exceptions and failed requests; a good page leaves it empty. */
  complaints: string[];
}

/** Opens Debian's Chromium for one visit and closes it whatever happens. Throws when the visit takes too long. */
export async function withChromium<T>(options: ChromiumOptions, visit: (visit: Visit) => Promise<T>): Promise<T> {
  if (!existsSync(EXECUTABLE)) throw new Error(`This test drives ${EXECUTABLE}, which is missing. Run: apt-get install -y chromium`);
  const { microphone, timeoutMs = 60_000, viewport = { width: 1280, height: 860 }, colorScheme = 'light' } = options;
  const args = microphone === undefined ? ARGS : [...ARGS, `--use-file-for-fake-audio-capture=${microphone}%noloop`];
  const browser = await chromium.launch({ executablePath: EXECUTABLE, headless: true, args, timeout: LAUNCH_TIMEOUT_MS });
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`The visit took more than ${timeoutMs} ms.`)), timeoutMs);
  try {
    return await Promise.race([late, open(browser, { viewport, colorScheme }).then(visit)]);
  } finally {
    clearTimeout(timer);
    await browser.close();
  }
}

/** Writes mono PCM16 as the WAV file that a microphone plays. */
export async function writeMicrophone(path: string, samples: Int16Array, sampleRate: number): Promise<void> {
  const sound = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
  await writeFile(path, Buffer.concat([wavHeader({ sampleRate, channels: 1, dataBytes: sound.length }), sound]));
}

async function open(browser: Browser, { viewport, colorScheme }: { viewport: { width: number; height: number }; colorScheme: 'light' | 'dark' }): Promise<Visit> {
  const context = await browser.newContext({ viewport, colorScheme });
  context.setDefaultTimeout(ACTION_TIMEOUT_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`exception: ${error.stack ?? error.message}`));
  page.on('requestfailed', (request) => complaints.push(`failed: ${request.method()} ${request.url()}`));
  return { page, context, complaints };
}
