import { SAMPLE_RATE } from './audio-frame.ts';
import { heardText, startOfCutWord, type Speech, type SpokenText } from './heard-text.ts';
import { PlayedTimeline } from './played-timeline.ts';

/** Holds the text for good and the sound only until it was heard. */
interface Piece { spoken: SpokenText; audio: Int16Array; from: number; samples: number }

const SAMPLES_PER_MS = SAMPLE_RATE / 1000;
const DROPPED = new Int16Array(0);
/** A far end that reports what it plays is waited for this long after the last sample; its last report may be lost. */
const REPORT_WAIT_MS = 1000;

/** One thing being said: its pieces as they arrive, how far it has been handed out, and how far it was heard. Positions are samples. */
export class PlayoutItem {
  readonly timeline = new PlayedTimeline();
  readonly #pieces: Piece[] = [];
  readonly #latency: number;
  #total = 0;
  #position = 0;
  /** Index of the piece that holds `#position`. */
  #current = 0;
  #reported: number | undefined;
  #silentSinceEnd = 0;

  /** `latencyMs`: what the far end buffers, and can still drop, of what was handed out. */
  constructor(latencyMs: number) {
    this.#latency = Math.round(latencyMs * SAMPLES_PER_MS);
  }

  add(speech: Speech): void {
    const { audio, text, words } = speech;
    this.#pieces.push({ spoken: { text, words }, audio, from: this.#total, samples: audio.length });
    this.#total += audio.length;
  }

  /** Samples received and not yet handed out. */
  get waiting(): number {
    return this.#total - this.#position;
  }

  /** Whether a piece lies ready behind the one being handed out. */
  get pieceAhead(): boolean {
    return (this.#pieces.at(-1)?.from ?? 0) > this.#position;
  }

  /** True once the far end has had time to play everything received. */
  get heardAll(): boolean {
    if (this.#position < this.#total) return false;
    return this.timeline.played === 0 || this.#heardPosition() === this.#total || this.#silentSinceEnd >= REPORT_WAIT_MS * SAMPLES_PER_MS;
  }

  /** Fills `frame` with the next samples, silence where none are there; answers how many were speech. */
  read(frame: Int16Array): number {
    const count = this.peek(frame);
    if (count > 0) this.timeline.speech(this.#position, count);
    if (this.timeline.played > 0) this.timeline.silence(frame.length - count);
    this.#silentSinceEnd = count > 0 ? 0 : this.#silentSinceEnd + frame.length;
    this.#position += count;
    this.#dropHeardAudio();
    return count;
  }

  /** Like `read`, but the position stays. */
  peek(frame: Int16Array): number {
    let count = 0;
    for (let index = this.#current; index < this.#pieces.length && count < frame.length; index++) {
      const piece = this.#pieces[index] as Piece;
      const offset = Math.max(0, this.#position + count - piece.from);
      const take = Math.min(frame.length - count, piece.samples - offset);
      for (let sample = 0; sample < take; sample++) frame[count + sample] = piece.audio[offset + sample] as number;
      count += Math.max(0, take);
    }
    frame.fill(0, count);
    return count;
  }

  /** The far end says it has played `playedMs` of this item; never goes back. */
  report(playedMs: number): void {
    const played = Math.min(this.timeline.played, Math.round(playedMs * SAMPLES_PER_MS));
    this.#reported = Math.max(this.#reported ?? 0, played);
  }

  /** Goes back to what was really heard, because the far end was told to drop the rest. */
  rewindToHeard(): void {
    const heard = this.#heardPosition();
    this.timeline.cutAt(this.#playedByFarEnd());
    this.#moveTo(heard);
  }

  /** Goes back to where the word began that the position stands in. */
  rewindToWord(): void {
    const piece = this.#pieces[this.#current];
    if (piece) this.#moveTo(piece.from + startOfCutWord(piece.spoken, this.#position - piece.from));
  }

  /** The text of everything received. */
  text(): string {
    return this.#pieces.map((piece) => piece.spoken.text).filter(Boolean).join(' ');
  }

  /** Text heard so far, cut at the last fully heard word. */
  heard(): string {
    const heard = this.#heardPosition();
    const texts: string[] = [];
    for (const piece of this.#pieces) {
      if (heard <= piece.from && (piece.samples > 0 || heard < piece.from)) break;
      texts.push(heardText(piece.spoken, piece.samples, heard - piece.from));
    }
    return texts.filter(Boolean).join(' ');
  }

  #playedByFarEnd(): number {
    return this.#reported ?? Math.max(0, this.timeline.played - this.#latency);
  }

  #heardPosition(): number {
    const played = this.#playedByFarEnd();
    return played <= 0 ? 0 : this.timeline.positionAt(played);
  }

  #moveTo(position: number): void {
    this.#position = position;
    while (this.#current > 0 && (this.#pieces[this.#current]?.from ?? 0) > position) this.#current--;
  }

  /** Audio that was heard is never needed again; a hold goes back to a word's start within the piece at most. */
  #dropHeardAudio(): void {
    for (let piece = this.#pieces[this.#current]; piece && this.#position >= piece.from + piece.samples; piece = this.#pieces[this.#current]) {
      if (this.#current + 1 >= this.#pieces.length) return;
      this.#current++;
    }
    const heard = this.#heardPosition();
    for (let index = this.#current - 1; index >= 0; index--) {
      const piece = this.#pieces[index] as Piece;
      if (piece.audio === DROPPED) return;
      if (piece.from + piece.samples <= heard) piece.audio = DROPPED;
    }
  }
}
