import { FRAME_MS, FRAME_SAMPLES, type AudioFrame } from '../../media/audio-frame.ts';
import { Playout } from '../../media/playout.ts';
import type { PortPool } from '../../media/rtp/port-pool.ts';
import { RtpSession } from '../../media/rtp/rtp-session.ts';
import { EnergyVad } from '../../media/vad.ts';

/** Frames each way: enough for the optimising compiler to have seen every branch. */
const FRAMES = 400;
/** Every so many frames one is not sent (concealment), and every so many the event loop delivers what was. */
const LOSE_EVERY = 37;
const DELIVER_EVERY = 8;
/** Silence now and then, so that both sides of the voice detector and of the playout run. */
const TALK_FRAMES = 60;

/**
 * Runs a call against itself over loopback in simulated time, so that the first real call finds compiled code: at real-time
 * priority the compiler's own threads would wait for us (33 ms for a first tick that was never warm).
 */
export async function warmUp(host: string, ports: PortPool): Promise<void> {
  let nowMs = performance.now();
  const media = { codec: 'PCMU' as const, payloadType: 0, ptimeMs: FRAME_MS };
  const open = (port: number): Promise<RtpSession> => RtpSession.open({
    ...media, host, ports, remote: { address: '127.0.0.1', port }, now: () => nowMs, onDtmf: () => {}, onFrame: () => {},
  });
  const near = await open(9);
  const far = await open(near.port);
  near.setMedia({ ...media, remote: { address: '127.0.0.1', port: far.port } });
  const playout = new Playout();
  const over = new AbortController();
  const heard = playout.play(hum(), over.signal);
  const vad = new EnergyVad();
  try {
    for (let index = 0; index < FRAMES; index++) {
      nowMs += FRAME_MS;
      const frame = playout.next();
      if (index % LOSE_EVERY !== 0) near.write(frame);
      far.write(frame);
      if (index % DELIVER_EVERY === 0) await new Promise((resolve) => setImmediate(resolve));
      hear(near, vad, nowMs);
      hear(far, vad, nowMs);
    }
  } finally {
    over.abort();
    await heard;
    vad.close();
    await Promise.all([near.close(), far.close()]);
  }
}

function hear(session: RtpSession, vad: EnergyVad, nowMs: number): void {
  for (let frame = session.read(nowMs); frame; frame = session.read(nowMs)) {
    vad.write(frame);
    vad.take();
  }
}

/** Bursts of a tone and of nothing. */
async function* hum(): AsyncGenerator<{ audio: AudioFrame; text: string; words: [] }> {
  for (let burst = 0; ; burst++) {
    const audio = new Int16Array(FRAME_SAMPLES * TALK_FRAMES);
    if (burst % 2 === 0) for (let index = 0; index < audio.length; index++) audio[index] = 8000 * Math.sin(index * 0.1);
    yield { audio, text: '', words: [] };
    await Promise.resolve();
  }
}
