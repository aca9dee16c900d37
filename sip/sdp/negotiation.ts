/** The offers and answers of one dialog: counts the version of our side (RFC 3264 section 8). */
import { answerOffer, makeOffer, readAnswer, type LocalMedia, type AnswerMedia, type SdpAnswer, type SdpReading } from './answer.ts';

export class SdpNegotiation {
  readonly #local: Omit<LocalMedia, 'version'>;
  #version: number;
  /** Our last description that was sent. */
  #sent: string | undefined;
  #media: AnswerMedia | undefined;

  constructor(local: Omit<LocalMedia, 'version'>, firstVersion = 1) {
    this.#local = local;
    this.#version = firstVersion;
  }

  /** What holds now; undefined before the first answer. */
  get media(): AnswerMedia | undefined {
    return this.#media;
  }

  /** Answers the peer's offer. A refusal leaves everything as it was. */
  answer(offer: string): SdpAnswer {
    const written = this.#version;
    const answered = answerOffer(offer, { ...this.#local, version: written });
    if (!answered.ok) return answered;
    this.#media = answered.media;
    return { ...answered, sdp: this.#versioned((version) => renumbered(answered.sdp, written, version)) };
  }

  /** Our description for a peer that asks for one. */
  offer(): string {
    const previous = this.#sent;
    return this.#versioned((version) => makeOffer({ ...this.#local, version }, previous));
  }

  /** Reads the answer to `offer()`. A refusal leaves everything as it was. */
  readAnswer(answer: string): SdpReading {
    const reading = readAnswer(answer, { ...this.#local, version: this.#version });
    if (reading.ok) this.#media = reading.media;
    return reading;
  }

  /** The same text keeps its version, any other gets the next one. */
  #versioned(write: (version: number) => string): string {
    const same = write(this.#version);
    if (this.#sent !== undefined && this.#sent !== same) this.#version++;
    this.#sent = write(this.#version);
    return this.#sent;
  }
}

function renumbered(sdp: string, from: number, to: number): string {
  return sdp.replace(new RegExp(`^(o=\\S+ \\d+) ${from} `, 'm'), `$1 ${to} `);
}
