import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import t from 'tap';
import type { ClientMessage } from '../../../src/session/browser/protocol.ts';
import { tone, type ExpectedSession } from '../../support/browser-session.ts';
import { withChromium, writeMicrophone } from '../../support/chromium.ts';
import { asteriskPrompt, readSpeechFile } from '../../support/speech-fixtures.ts';
import { openTalkApp, over, playTo } from '../../support/talk-app.ts';

const AGENTS = [{ id: 'a'.repeat(24), name: 'Front desk' }, { id: 'b'.repeat(24), name: 'Night line' }];
const app = await openTalkApp(AGENTS);

t.test('a call in a real browser', async (t) => {
  const speech = readSpeechFile(asteriskPrompt('vm-enter-num-to-call').path, 16_000);
  const microphone = join(t.testdir(), 'microphone.wav');
  // The file plays from the moment the microphone opens, before anybody listens.
  const sound = new Int16Array(speech.length + 3 * 16_000);
  sound.set(speech, 2 * 16_000);
  await writeMicrophone(microphone, sound, 16_000);
  await withChromium({ microphone }, async ({ page, context, complaints }) => {
    await context.addCookies(app.cookies);
    await page.goto(`${app.url}/talk`);
    await page.locator('#agent').selectOption('Night line');
    const coming = app.nextSession();
    await page.getByRole('button', { name: 'Talk' }).click();
    const session = await coming;
    t.match(app.asked.at(-1), { mode: 'live', body: { agent_id: AGENTS[1]!.id } });
    await until(() => session.events.includes('joined'));
    const { leg } = session;

    await t.test('what the agent says is played and reported', async (t) => {
      leg.sendControl({ type: 'state', state: 'speaking' });
      leg.sendControl({ type: 'agent.audio.start', item_id: 'opening' });
      leg.sendControl({ type: 'agent.text', item_id: 'opening', text: 'Hello,' });
      leg.sendControl({ type: 'agent.text', item_id: 'opening', text: 'how can I help?' });
      const playing = playTo(session, tone(500, 1000));
      await until(async () => (await agentLevel(page)) > 0.5);
      await playing;
      leg.sendControl({ type: 'agent.audio.end', item_id: 'opening' });
      do await playTo(session, new Int16Array(320 * 25));
      while (!(positionsOf(session, 'opening').at(-1)! > 850));
      const positions = positionsOf(session, 'opening');
      t.ok(positions.length >= 8, `${positions.length} reports`);
      t.ok(positions.every((ms, index) => index === 0 || ms >= positions[index - 1]!), 'forwards only');
      t.ok(positions.at(-1)! > 850 && positions.at(-1)! <= 1000, `${positions.at(-1)} ms of 1000 heard`);
      t.equal(await page.locator('#transcript .agent .words').textContent(), 'Hello, how can I help?');
      t.match(await page.locator('#talk-label').textContent(), 'Speaking');
    });

    await t.test('what the microphone hears arrives', async (t) => {
      while (session.frames.length < sound.length / 320) await playTo(session, new Int16Array(320 * 10));
      const heard = envelope(Int16Array.from(session.frames.flatMap((frame) => [...frame])));
      const spoken = envelope(speech);
      const likeness = bestStretch(spoken, heard);
      t.ok(likeness > 0.85, `loudness follows the recording: ${likeness.toFixed(2)}`);
      t.ok(loud(heard) > 0.6 * loud(spoken), `${loud(heard)} loud frames of ${loud(spoken)}`);
      t.equal(leg.figures().lostFrames, 0);
    });

    await t.test('the caller is written down as it speaks', async (t) => {
      leg.sendControl({ type: 'state', state: 'listening' });
      leg.sendControl({ type: 'transcript.partial', text: 'please enter' });
      t.equal(await page.locator('#transcript .caller.partial .words').textContent(), 'please enter');
      leg.sendControl({ type: 'transcript.final', text: 'Please enter the number you wish to call.' });
      await page.locator('#transcript .caller:not(.partial)').waitFor();
      t.equal(await page.locator('#transcript .caller .words').textContent(), 'Please enter the number you wish to call.');
      leg.sendControl({ type: 'transcript.final', text: '<img src=x onerror=alert(1)>' });
      await page.getByText('<img src=x').waitFor();
      t.equal(await page.locator('#transcript img').count(), 0, 'words are never markup');
    });

    await t.test('an interruption empties the loudspeaker and corrects the text', async (t) => {
      leg.sendControl({ type: 'state', state: 'speaking' });
      leg.sendControl({ type: 'agent.audio.start', item_id: 'cut' });
      leg.sendControl({ type: 'agent.text', item_id: 'cut', text: 'Certainly, I can connect you now.' });
      const told = session.control.length;
      await playTo(session, tone(500, 600));
      await page.getByRole('button', { name: 'Speaking' }).click();
      await until(() => session.control.slice(told).some(({ type }) => type === 'interrupt'));
      leg.clear();
      leg.sendControl({ type: 'agent.corrected', item_id: 'cut', heard_text: 'Certainly, I can' });
      await page.locator('#transcript .corrected').waitFor();
      await playTo(session, new Int16Array(320 * 25));
      const after = positionsOf(session, 'cut');
      await playTo(session, new Int16Array(320 * 15));
      t.ok(after.at(-1)! < 1200, `${after.at(-1)} ms heard`);
      t.strictSame(positionsOf(session, 'cut'), after, 'nothing of it is heard after the clear');
      t.equal(await page.locator('#transcript .corrected del').textContent(), ' connect you now.');
      t.equal(await agentLevel(page), 0);
    });

    await t.test('latency, typing and mute', async (t) => {
      for (const total of [900, 700, 1100]) {
        leg.sendControl({ type: 'turn.metrics', voice_to_voice_ms: total, endpointing_ms: 400, stt_ms: 50, llm_ms: total - 550, tts_ms: 100 });
      }
      await page.getByText('median of 3 turns').waitFor();
      t.equal(await page.locator('#median').textContent(), '900 ms');
      t.strictSame(await page.locator('.turn-ms').allTextContents(), ['900 ms', '700 ms', '1100 ms']);
      await page.getByLabel('Type to the agent').fill('My name is Ada.');
      await page.keyboard.press('Enter');
      await until(() => session.control.some((message) => message.type === 'input.text' && message.text === 'My name is Ada.'));
      await page.getByRole('button', { name: 'Mute' }).click();
      await until(() => session.control.some((message) => message.type === 'mute' && message.muted));
      t.equal(await page.getByRole('button', { name: 'Unmute' }).getAttribute('aria-pressed'), 'true');
    });

    await t.test('a broken connection comes back by itself', async (t) => {
      app.breakSockets();
      await until(() => session.events.includes('lost'));
      await until(() => session.events.includes('resumed'));
      leg.sendControl({ type: 'state', state: 'listening' });
      await page.getByText('Listening', { exact: true }).waitFor();
      await until(() => session.control.filter((message) => message.type === 'mute' && message.muted).length === 2);
      t.equal(leg.signal.aborted, false);
    });

    await page.getByRole('button', { name: 'End', exact: true }).click();
    await over(session);
    t.equal(leg.signal.reason, 'caller_hangup');
    await page.getByText('You ended the call.').first().waitFor();
    t.strictSame(complaints, [], 'nothing against the policy, no exception, no failed request');
  });
});

t.test('when it cannot be', async (t) => {
  await withChromium({ colorScheme: 'dark', viewport: { width: 390, height: 844 } }, async ({ page, context, complaints }) => {
    await t.test('signed out: it says where to sign in', async (t) => {
      await page.goto(`${app.url}/talk`);
      await page.getByRole('alert').getByText('You are not signed in').waitFor();
      t.equal(await page.getByRole('button', { name: 'Talk' }).isDisabled(), true);
      t.equal(complaints.splice(0).length, 1, 'the 401 itself');
    });

    await context.addCookies(app.cookies);
    await page.addInitScript({ content: "navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('denied', 'NotAllowedError'))" });
    await page.goto(`${app.url}/talk`);

    await t.test('no microphone: it says how to allow it, and one can type', async (t) => {
      await page.getByRole('button', { name: 'Talk' }).click();
      await page.getByRole('alert').getByText('The microphone is blocked').waitFor();
      t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'it fits a telephone');
      const coming = app.nextSession();
      await page.getByRole('button', { name: 'Type instead' }).click();
      const session = await coming;
      await until(() => session.events.includes('joined'));
      await page.getByLabel('Type to the agent').fill('Hello');
      await page.keyboard.press('Enter');
      await until(() => session.control.some(({ type }) => type === 'input.text'));
      session.leg.hangUp('agent_hangup');
      await page.getByText('The agent ended the call.').first().waitFor();
      t.equal(await page.getByRole('button', { name: 'Talk' }).isEnabled(), true, 'and one can call again');
    });
    t.strictSame(complaints, []);
  });
});

t.test('closing closes all', () => app.close());

function positionsOf({ control }: ExpectedSession, itemId: string): number[] {
  return control.filter((message): message is Extract<ClientMessage, { type: 'playback.position' }> => message.type === 'playback.position' && message.item_id === itemId)
    .map(({ played_ms }) => played_ms);
}

/** Loudness of every 20 ms. */
function envelope(samples: Int16Array): number[] {
  return Array.from({ length: Math.floor(samples.length / 320) }, (_, index) => {
    const frame = samples.subarray(index * 320, (index + 1) * 320);
    return Math.log10(1 + Math.sqrt(frame.reduce((sum, sample) => sum + sample * sample, 0) / 320));
  });
}

function loud(loudness: number[]): number {
  return loudness.filter((value) => value > 2.5).length;
}

/** The best likeness of any 0.8 s of `spoken` with any place in `heard`: a busy machine may tear holes, so not all of it at once. */
function bestStretch(spoken: number[], heard: number[]): number {
  const length = 40;
  let best = -1;
  for (let from = 0; from + length <= spoken.length; from += 10) {
    const stretch = spoken.slice(from, from + length);
    for (let at = 0; at + length <= heard.length; at++) best = Math.max(best, correlation(stretch, heard.slice(at, at + length)));
  }
  return best;
}

function correlation(a: number[], b: number[]): number {
  const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanA, meanB] = [mean(a), mean(b)];
  let [ab, aa, bb] = [0, 0, 0];
  for (const [index, value] of a.entries()) {
    const [x, y] = [value - meanA, b[index]! - meanB];
    ab += x * y;
    aa += x * x;
    bb += y * y;
  }
  return ab / Math.sqrt(aa * bb || 1);
}

async function agentLevel(page: Page): Promise<number> {
  return Number(await page.evaluate("getComputedStyle(document.getElementById('talk')).getPropertyValue('--agent-level')"));
}

async function until(holds: () => boolean | Promise<boolean>, withinMs = 10_000): Promise<void> {
  const deadline = AbortSignal.timeout(withinMs);
  while (!(await holds())) {
    if (deadline.aborted) throw new Error(`It did not come within ${withinMs} ms: ${String(holds)}`);
    await wait(10);
  }
}
