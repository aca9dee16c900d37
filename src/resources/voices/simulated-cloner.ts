import { createHash } from 'node:crypto';
import { CloningError, type Cloning, type CloneRequest, type Preview, type VoiceCloner } from './cloning.ts';
import type { VoiceProvider } from './voice-provider.ts';

/** Speaks a text in one of the embedded voices; answers a WAV file. */
export type Speak = (text: string, voice: string, signal: AbortSignal) => Promise<Buffer>;

const PREFIX = 'simulated-';
const VOICES = ['rms', 'slt', 'awb', 'kal16'] as const;

/**
 * The provider of test mode: free, in this process, and the same answer for the same request. It keeps nothing, for its ids
 * say all there is: which embedded voice speaks for the clone, and the voice it belongs to.
 */
export class SimulatedCloner implements VoiceCloner {
  readonly #speak: Speak | undefined;

  constructor(speak?: Speak) {
    this.#speak = speak;
  }

  clone({ reference }: CloneRequest): Promise<string> {
    return Promise.resolve(idOf(reference));
  }

  find(reference: string): Promise<string> {
    return Promise.resolve(idOf(reference));
  }

  delete(): Promise<void> {
    return Promise.resolve();
  }

  async preview(providerVoiceId: string, text: string, signal: AbortSignal): Promise<Preview> {
    if (!this.#speak) throw new CloningError('no embedded speech engine is at hand here', { refused: true });
    return { mediaType: 'audio/wav', audio: await this.#speak(text, embeddedVoiceOf(providerVoiceId) ?? VOICES[0], signal) };
  }
}

/** The embedded voice that stands in for a simulated clone; undefined for any other voice. */
export function embeddedVoiceOf(providerVoiceId: string): string | undefined {
  if (!providerVoiceId.startsWith(PREFIX)) return undefined;
  return VOICES.find((voice) => providerVoiceId.startsWith(`${PREFIX}${voice}-`));
}

/** Test mode is simulated; live mode has the providers that are configured. */
export function cloning(simulated: VoiceCloner, live: Partial<Record<VoiceProvider, VoiceCloner>> = {}): Cloning {
  return { clonerOf: (provider, livemode) => (livemode ? live[provider] : simulated) };
}

function idOf(reference: string): string {
  const [first = 0] = createHash('sha256').update(reference).digest();
  return `${PREFIX}${VOICES[first % VOICES.length]}-${reference}`;
}
