import { StreamResampler } from './resampler.js';

const WIRE_RATE = 16000;
const FRAME_SAMPLES = 320;

/** The microphone as 20 ms pieces of PCM16 at 16 kHz, each with its level (0 to 1). */
class Capture extends AudioWorkletProcessor {
  constructor() {
    super();
    this.resampler = new StreamResampler(sampleRate, WIRE_RATE);
    this.frame = new Int16Array(FRAME_SAMPLES);
    this.filled = 0;
    this.energy = 0;
  }

  process([input]) {
    const samples = input[0];
    if (!samples) return true;
    for (const sample of this.resampler.process(samples)) {
      const clipped = Math.max(-1, Math.min(1, sample));
      this.frame[this.filled++] = Math.round(clipped * 32767);
      this.energy += clipped * clipped;
      if (this.filled === FRAME_SAMPLES) this.send();
    }
    return true;
  }

  send() {
    const { buffer } = this.frame;
    this.port.postMessage({ frame: buffer, level: Math.sqrt(this.energy / FRAME_SAMPLES) }, [buffer]);
    this.frame = new Int16Array(FRAME_SAMPLES);
    this.filled = 0;
    this.energy = 0;
  }
}

registerProcessor('wirevoice-capture', Capture);
