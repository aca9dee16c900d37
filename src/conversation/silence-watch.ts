import type { AgentSpec } from '../calls/worker-protocol.ts';

export type SilenceVerdict = 'remind' | 'hang_up';

/** Measures a silence that is the caller's to break. The heard frames are its clock. 0 switches a limit off. */
export class SilenceWatch {
  readonly #limits: AgentSpec['silence'];
  #silentMs = 0;
  #sinceReminderMs = 0;
  #reminders = 0;

  constructor(limits: AgentSpec['silence']) {
    this.#limits = limits;
  }

  /** The caller said words or pressed a key. */
  broken(): void {
    this.#silentMs = 0;
    this.#sinceReminderMs = 0;
    this.#reminders = 0;
  }

  /** `elapsedMs` passed in which neither side made a sound. */
  next(elapsedMs: number): SilenceVerdict | undefined {
    this.#silentMs += elapsedMs;
    this.#sinceReminderMs += elapsedMs;
    const { reminderAfterMs, reminderText, maxReminders, hangUpAfterMs } = this.#limits;
    if (hangUpAfterMs > 0 && this.#silentMs >= hangUpAfterMs) return 'hang_up';
    const due = reminderAfterMs > 0 && this.#sinceReminderMs >= reminderAfterMs;
    if (!due || !reminderText || this.#reminders >= maxReminders) return undefined;
    this.#reminders++;
    this.#sinceReminderMs = 0;
    return 'remind';
  }
}
