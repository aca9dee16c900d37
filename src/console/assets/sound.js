/** Microphone and loudspeaker of one call. */

/** Why there is no microphone, in words for the person. */
export class MicrophoneFailure extends Error {
  constructor(title, message) {
    super(message);
    this.title = title;
  }
}

const REASONS = {
  NotAllowedError: ['The microphone is blocked', 'Allow the microphone for this page in the address bar, then press Talk again.'],
  NotFoundError: ['No microphone found', 'Connect a microphone, then press Talk again.'],
  NotReadableError: ['The microphone is busy', 'Another program uses it. Close that, then press Talk again.'],
};

/** The microphone's stream, with echo cancellation. Throws MicrophoneFailure. */
export async function openMicrophone() {
  if (!navigator.mediaDevices) {
    throw new MicrophoneFailure('This page may not use a microphone', 'Browsers give it to https pages and to localhost only. Open this page by https, or through localhost.');
  }
  try {
    return await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: true, noiseSuppression: true, autoGainControl: true, channelCount: 1 } });
  } catch (error) {
    const [title, message] = REASONS[error.name] ?? ['The microphone does not start', `${error.message || error.name}.`];
    throw new MicrophoneFailure(title, message);
  }
}

/** Both worklets in one AudioContext. `microphone` undefined: the person types. */
export class Sound extends EventTarget {
  static async open(microphone) {
    const context = new AudioContext({ latencyHint: 'interactive' });
    await Promise.all([context.audioWorklet.addModule('/talk/assets/capture-worklet.js'), context.audioWorklet.addModule('/talk/assets/playback-worklet.js')]);
    await context.resume();
    return new Sound(context, microphone);
  }

  constructor(context, microphone) {
    super();
    this.context = context;
    this.microphone = microphone;
    this.playback = new AudioWorkletNode(context, 'wirevoice-playback', { numberOfInputs: 0, outputChannelCount: [2] });
    this.playback.port.onmessage = ({ data }) => this.onPlayback(data);
    this.playback.connect(context.destination);
    if (microphone) this.listen(microphone);
  }

  /** Events: `frame` { frame, level }, `lost`. */
  listen(microphone) {
    const capture = new AudioWorkletNode(this.context, 'wirevoice-capture', { numberOfOutputs: 0 });
    capture.port.onmessage = ({ data }) => this.tell('frame', data);
    this.context.createMediaStreamSource(microphone).connect(capture);
    microphone.getAudioTracks()[0].addEventListener('ended', () => this.tell('lost'));
  }

  set muted(muted) {
    for (const track of this.microphone?.getAudioTracks() ?? []) track.enabled = !muted;
  }

  play(samples) {
    this.playback.port.postMessage({ kind: 'audio', samples }, [samples]);
  }

  startItem(itemId) {
    this.playback.port.postMessage({ kind: 'start', itemId });
  }

  endItem() {
    this.playback.port.postMessage({ kind: 'end' });
  }

  clear() {
    this.playback.port.postMessage({ kind: 'clear' });
  }

  async close() {
    for (const track of this.microphone?.getTracks() ?? []) track.stop();
    if (this.context.state !== 'closed') await this.context.close();
  }

  /** Events: `level` { level }, `position` { itemId, playedMs }: what has left the loudspeaker. */
  onPlayback(data) {
    if (data.kind === 'level') return this.tell('level', data);
    const onItsWayMs = ((this.context.outputLatency || 0) + (this.context.baseLatency || 0)) * 1000;
    this.tell('position', { itemId: data.itemId, playedMs: Math.max(0, Math.round(data.playedMs - onItsWayMs)) });
  }

  tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
