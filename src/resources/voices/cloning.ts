import type { Recording } from './recording.ts';
import type { VoiceProvider } from './voice-provider.ts';

/** What a provider of cloned voices must do. Owned by its consumer; adapters implement it. */

export interface CloneRequest {
  /** Ours, kept with the clone at the provider (a label or its description), so that `find` finds it. */
  reference: string;
  name: string;
  description: string | null;
  language: string | null;
  removeBackgroundNoise: boolean;
  recordings: readonly Recording[];
}

export interface Preview { mediaType: string; audio: Buffer }

/** One provider. Every method throws CloningError, and stops once its signal aborts. */
export interface VoiceCloner {
  /** Makes a clone; answers the provider's id of it. */
  clone(request: CloneRequest, signal: AbortSignal): Promise<string>;
  /** The clone that carries this reference, if there is one: what a request whose answer was lost has made. */
  find(reference: string, signal: AbortSignal): Promise<string | undefined>;
  /** Deletes a clone. One that is gone already counts as deleted. */
  delete(providerVoiceId: string, signal: AbortSignal): Promise<void>;
  /** Speaks a text in a voice. */
  preview(providerVoiceId: string, text: string, signal: AbortSignal): Promise<Preview>;
}

/** A provider's failure. `refused`: it answered, and has made nothing; else it may have. The message never holds a credential. */
export class CloningError extends Error {
  override readonly name = 'CloningError';
  readonly refused: boolean;

  constructor(message: string, options: { refused: boolean; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.refused = options.refused;
  }
}

/** Which providers this installation has, by mode; undefined: not configured. */
export interface Cloning { clonerOf(provider: VoiceProvider, livemode: boolean): VoiceCloner | undefined }
