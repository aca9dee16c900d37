/** One call over the realtime protocol: a WebSocket that comes back when the network drops it. */

const PROTOCOL = 'wirevoice.v1';
/** The service waits 15 s for a dropped socket. */
const RESUME_WITHIN_MS = 14000;
const RETRY_MS = 700;
/** More than a second of sound waiting to be sent: the network stalls, later sound is worth more. */
const MAX_BUFFERED_BYTES = 32000;

/** Events: `message` (a server message), `audio` (ArrayBuffer), `dropped`, `ended` { code, reason, endReason }. */
export class RealtimeSession extends EventTarget {
  constructor({ url, secret }) {
    super();
    this.url = url;
    this.endReason = undefined;
    this.resumeToken = undefined;
    this.droppedAt = undefined;
    this.closed = false;
    this.connect(`secret.${secret}`);
  }

  connect(credential) {
    const socket = new WebSocket(this.url, [PROTOCOL, credential]);
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('message', ({ data }) => this.take(data));
    socket.addEventListener('close', ({ code, reason }) => this.onClose(code, reason));
    this.socket = socket;
  }

  send(message) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  sendAudio(frame) {
    if (this.socket.readyState === WebSocket.OPEN && this.socket.bufferedAmount < MAX_BUFFERED_BYTES) this.socket.send(frame);
  }

  /** Leaves: `ended` follows. */
  end() {
    this.closed = true;
    this.endReason ??= 'caller_hangup';
    this.send({ type: 'session.end' });
    this.socket.close(1000);
  }

  take(data) {
    if (typeof data !== 'string') return this.tell('audio', data);
    const message = JSON.parse(data);
    if (message.type === 'session.ready') {
      this.resumeToken = message.resume_token;
      this.droppedAt = undefined;
    }
    if (message.type === 'session.ended') this.endReason = message.end_reason;
    this.tell('message', message);
  }

  onClose(code, reason) {
    const now = performance.now();
    const mayResume = code === 1006 && this.resumeToken && !this.closed && !this.endReason;
    if (mayResume) this.droppedAt ??= now;
    if (!mayResume || now - this.droppedAt > RESUME_WITHIN_MS) return this.tell('ended', { code, reason, endReason: this.endReason });
    this.tell('dropped');
    setTimeout(() => {
      if (this.closed) this.tell('ended', { code, reason, endReason: this.endReason });
      else this.connect(`resume.${this.resumeToken}`);
    }, RETRY_MS);
  }

  tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
