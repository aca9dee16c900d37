import type { CallSummary, TurnLatency } from '../calls/worker-protocol.ts';

/** Keeps the figures of one call as it goes; the summary of its end. */
export class CallFigures {
  readonly #turns: TurnLatency[] = [];
  #byCaller = 0;
  #falseAlarms = 0;
  #answeredAt: number | undefined;
  #answerToFirstAudioMs: number | undefined;

  /** `now`: this thread's clock, ms. */
  answered(now: number): void {
    this.#answeredAt = now;
  }

  agentAudioStarted(now: number): void {
    if (this.#answeredAt !== undefined) this.#answerToFirstAudioMs ??= now - this.#answeredAt;
  }

  turn(latency: TurnLatency): void {
    this.#turns.push(latency);
  }

  interruption(kind: 'by_caller' | 'false_alarm'): void {
    if (kind === 'by_caller') this.#byCaller++;
    else this.#falseAlarms++;
  }

  summary(quality?: CallSummary['quality']): CallSummary {
    return {
      turns: this.#turns,
      ...(this.#answerToFirstAudioMs === undefined ? {} : { answerToFirstAudioMs: this.#answerToFirstAudioMs }),
      interruptions: { byCaller: this.#byCaller, falseAlarms: this.#falseAlarms },
      ...(quality ? { quality } : {}),
    };
  }
}
