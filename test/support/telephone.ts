import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { encodePcmu } from '../../media/codec/g711.ts';
import { DtmfReceiver } from '../../media/rtp/dtmf.ts';
import { buildRtp, emptyRtpPacket, parseRtp } from '../../media/rtp/packet.ts';
import { header, request, responseTo, toTag, udpPeer, type Peer } from '../sip/support/sip-peer.ts';

const FRAME_MS = 20;
const FRAME_SAMPLES = 160;
const MAX_LATE_MS = 60;
const KEYS = 101;
const QUIET = new Uint8Array(FRAME_SAMPLES).fill(0xff);

interface Dialog { fromTag: string; toTag: string; uri: string }

/**
 * A telephone inside the test, in raw text and packets, for what sipp and baresip cannot do: its sockets are at hand, it speaks
 * when told and counts what it hears. Sends mu-law every 20 ms from the answer on.
 */
export class Telephone {
  readonly rtp: Socket;
  /** Where the gateway takes this call's RTP; RTCP is one above. */
  readonly remotePort: number;
  readonly callId: string;
  /** RTP packets that came. */
  received = 0;
  /** Keys that came as telephone-events, in order. */
  keys = '';
  readonly #sip: Peer;
  readonly #dialog: Dialog;
  readonly #ssrc = 0x5157;
  #sequence = 1;
  #words: Uint8Array[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** Calls and resolves once answered. Throws when it is not. `takesKeys`: it offers telephone-event too. */
  static async call(to: { sipPort: number; number: string; caller: string; takesKeys?: boolean }): Promise<Telephone> {
    const sip = await udpPeer({ port: to.sipPort });
    const rtp = createSocket('udp4');
    rtp.bind(0, '127.0.0.1');
    await once(rtp, 'listening');
    const uri = `sip:${to.number}@127.0.0.1:${to.sipPort}`;
    const body = ['v=0', 'o=caller 1 1 IN IP4 127.0.0.1', 's=-', 'c=IN IP4 127.0.0.1', 't=0 0', `m=audio ${rtp.address().port} RTP/AVP 0${to.takesKeys ? ` ${KEYS}` : ''}`, ...(to.takesKeys ? [`a=rtpmap:${KEYS} telephone-event/8000`] : []), ''].join('\r\n');
    const callId = `${to.caller}-${sip.port}`;
    sip.send(request(sip, 'INVITE', { callId, uri, body, fromTag: to.caller }));
    const answer = await sip.next('SIP/2.0 200').catch(async (error: unknown) => {
      rtp.close();
      await sip.close();
      throw error;
    });
    const dialog = { fromTag: to.caller, toTag: toTag(answer), uri: /<([^>]+)>/.exec(header(answer, 'Contact') ?? '')?.[1] ?? uri };
    sip.send(request(sip, 'ACK', { callId, ...dialog }));
    return new Telephone(sip, rtp, callId, dialog, Number(/^m=audio (\d+) /m.exec(answer)?.[1]));
  }

  private constructor(sip: Peer, rtp: Socket, callId: string, dialog: Dialog, remotePort: number) {
    this.#sip = sip;
    this.rtp = rtp;
    this.callId = callId;
    this.#dialog = dialog;
    this.remotePort = remotePort;
    const keys = new DtmfReceiver((digit) => { this.keys += digit; });
    rtp.on('message', (bytes) => {
      this.received++;
      const packet = parseRtp(bytes, emptyRtpPacket());
      if (packet?.payloadType === KEYS) keys.packet(packet.timestamp, bytes, packet.payloadStart, packet.payloadEnd, performance.now());
    });
    rtp.on('error', () => undefined);
    this.#run();
  }

  /** Says these words (8 kHz) from the next packet on. */
  say(pcm: Int16Array): void {
    for (let at = 0; at + FRAME_SAMPLES <= pcm.length; at += FRAME_SAMPLES) {
      const coded = new Uint8Array(FRAME_SAMPLES);
      encodePcmu(pcm.subarray(at, at + FRAME_SAMPLES), 0, FRAME_SAMPLES, coded);
      this.#words.push(coded);
    }
  }

  /** Says BYE and waits for its 200. */
  async hangUp(): Promise<void> {
    this.#sip.send(request(this.#sip, 'BYE', { callId: this.callId, cseq: 2, ...this.#dialog }));
    await this.#sip.next('SIP/2.0 200');
    await this.close();
  }

  /** Waits for the gateway's BYE and confirms it. */
  async hungUp(): Promise<void> {
    this.#sip.send(responseTo(await this.#sip.next('BYE'), '200 OK'));
    await this.close();
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.rtp.close();
    await this.#sip.close();
  }

  /**
   * Against absolute times: a timer that is late does not make the next one late. After a stall of this thread it goes on from
   * now, as a phone that was silent meanwhile: what is said is never squeezed.
   */
  #run(): void {
    const startedAt = performance.now();
    let slot = 0;
    const next = (): void => {
      const lateMs = performance.now() - startedAt - slot * FRAME_MS;
      if (lateMs > MAX_LATE_MS) slot += Math.floor(lateMs / FRAME_MS);
      const header = { marker: lateMs > MAX_LATE_MS, payloadType: 0, sequence: this.#sequence++ & 0xffff, timestamp: slot * FRAME_SAMPLES, ssrc: this.#ssrc };
      this.rtp.send(buildRtp(header, this.#words.shift() ?? QUIET), this.remotePort, '127.0.0.1');
      slot++;
      this.#timer = setTimeout(next, Math.max(0, startedAt + slot * FRAME_MS - performance.now()));
    };
    next();
  }
}
