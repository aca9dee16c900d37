import type { Readable } from 'node:stream';
import { ApiError } from '../../api/errors.ts';
import { EventStream } from '../../api/event-stream.ts';
import type { AppContext } from '../../context.ts';
import type { Listening } from '../../db/listener.ts';
import { presentProgress } from './present.ts';
import { CAMPAIGN_CHANNEL, findCampaign } from './store.ts';

export type ProgressContext = Pick<AppContext, 'db' | 'clock' | 'log'>;

/** Between two messages of one stream: four a second, each with all that happened meanwhile. */
const PAUSE_MS = 250;
const MAX_STREAMS_PER_ACCOUNT = 20;

interface Watched { id: string; account_id: string }

/**
 * Streams of campaigns' progress. What moves a campaign may be another process, so the database says which one changed and each
 * stream reads its campaign again.
 */
export class CampaignWatch {
  readonly #context: ProgressContext;
  readonly #streams = new Set<ProgressStream>();
  #listening: Listening | undefined;

  constructor(context: ProgressContext) {
    this.#context = context;
  }

  /** The events of a campaign from now to its completion. Throws ApiError `rate_limited` when the account has too many open. */
  open(campaign: Watched): Readable {
    const open = [...this.#streams].filter(({ accountId }) => accountId === campaign.account_id).length;
    if (open >= MAX_STREAMS_PER_ACCOUNT) throw new ApiError('rate_limited', `At most ${MAX_STREAMS_PER_ACCOUNT} streams of campaign events may be open at once; close one.`, { retryAfterSeconds: 1 });
    this.#listening ??= this.#context.db.listen(CAMPAIGN_CHANNEL, (id) => this.#changed(id));
    const stream = new ProgressStream(this.#context, campaign);
    this.#streams.add(stream);
    stream.body.once('close', () => this.#streams.delete(stream));
    stream.look();
    return stream.body;
  }

  /** Ends every stream. */
  async close(): Promise<void> {
    for (const stream of this.#streams) stream.end();
    await this.#listening?.close();
  }

  /** Undefined: what changed meanwhile is not known. */
  #changed(id: string | undefined): void {
    for (const stream of this.#streams) if (id === undefined || id === stream.campaignId) stream.look();
  }
}

class ProgressStream {
  readonly body: EventStream;
  readonly campaignId: string;
  readonly accountId: string;
  readonly #context: ProgressContext;
  #told = '';
  #waiting = false;
  #again = false;
  #over = false;
  #cancelPause: () => void = () => undefined;

  constructor(context: ProgressContext, campaign: Watched) {
    this.#context = context;
    this.campaignId = campaign.id;
    this.accountId = campaign.account_id;
    this.body = new EventStream(context.clock);
    this.body.once('close', () => {
      this.#over = true;
      this.#cancelPause();
    });
  }

  /** Tells what has changed, at once or after the pause. */
  look(): void {
    this.#again = true;
    if (this.#waiting || this.#over) return;
    this.#again = false;
    this.#waiting = true;
    this.#tell()
      .catch((error: unknown) => {
        // The client connects again and reads on.
        this.#context.log.warn({ campaign: this.campaignId, error: String(error) }, 'a campaign\'s progress could not be read');
        this.end();
      })
      .finally(() => {
        if (this.#over) return;
        this.#cancelPause = this.#context.clock.after(PAUSE_MS, () => {
          this.#waiting = false;
          if (this.#again) this.look();
        });
      });
  }

  end(): void {
    if (this.#over) return;
    this.#over = true;
    this.body.end();
  }

  async #tell(): Promise<void> {
    const row = await findCampaign(this.#context.db, this.accountId, this.campaignId, 'read');
    if (this.#over) return;
    if (!row) return this.end();
    const progress = presentProgress(row);
    const text = JSON.stringify(progress);
    if (text !== this.#told) this.body.tell('progress', progress);
    this.#told = text;
    if (row.status !== 'completed') return;
    this.body.tell('completed', progress);
    this.end();
  }
}
