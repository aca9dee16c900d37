import { PlaybackBuffer } from './playback-buffer.js';

const WIRE_RATE = 16000;
const REPORT_MS = 100;
const LEVEL_MS = 40;

/** Plays what the socket brings and says every 100 ms how far the item has been heard. */
class Playback extends AudioWorkletProcessor {
  constructor() {
    super();
    this.buffer = new PlaybackBuffer(WIRE_RATE, sampleRate);
    this.sinceReport = 0;
    this.sinceLevel = 0;
    this.energy = 0;
    this.port.onmessage = ({ data }) => this.take(data);
  }

  take({ kind, samples, itemId }) {
    if (kind === 'audio') this.buffer.push(new Int16Array(samples));
    else if (kind === 'start') this.buffer.start(itemId);
    else if (kind === 'end') this.buffer.end();
    else if (kind === 'clear') this.report(this.buffer.clear());
  }

  process(_, [output]) {
    const [first, ...others] = output;
    const finished = this.buffer.fill(first);
    for (const channel of others) channel.set(first);
    if (finished) this.report(finished);
    this.sinceReport += first.length;
    if (this.sinceReport >= (sampleRate / 1000) * REPORT_MS) this.report(this.buffer.position());
    this.measure(first);
    return true;
  }

  report(position) {
    this.sinceReport = 0;
    if (position) this.port.postMessage({ kind: 'position', ...position });
  }

  measure(samples) {
    for (const sample of samples) this.energy += sample * sample;
    this.sinceLevel += samples.length;
    if (this.sinceLevel < (sampleRate / 1000) * LEVEL_MS) return;
    this.port.postMessage({ kind: 'level', level: Math.sqrt(this.energy / this.sinceLevel) });
    this.sinceLevel = 0;
    this.energy = 0;
  }
}

registerProcessor('wirevoice-playback', Playback);
