import { CloningError, type CloneRequest, type Preview, type VoiceCloner } from '../../src/resources/voices/cloning.ts';

/**
 * `dies`: the clone is made, but its answer is lost. `hangs`: nothing is ever answered, whatever the signal says; `vanishes`: nor is
 * it then, but the clone is made.
 */
export type Mood = 'well' | 'refuses' | 'dies' | 'hangs' | 'vanishes';

/** A provider of cloned voices that does what a test says. */
export class ScriptedCloner implements VoiceCloner {
  mood: Mood = 'well';
  /** Every clone asked for. */
  readonly requests: CloneRequest[] = [];
  /** What the provider has, by reference. */
  readonly clones = new Map<string, string>();
  /** Told each time the provider is asked for a clone, before it answers. */
  onClone: () => void | Promise<void> = () => undefined;

  async clone(request: CloneRequest): Promise<string> {
    const id = `provider-voice-${this.requests.push(request)}`;
    await this.onClone();
    if (this.mood === 'refuses') throw new CloningError('the plan has no more places', { refused: true });
    if (this.mood === 'hangs') return new Promise(() => undefined);
    this.clones.set(request.reference, id);
    if (this.mood === 'vanishes') return new Promise(() => undefined);
    if (this.mood === 'dies') throw new TypeError('socket hang up');
    return id;
  }

  find(reference: string): Promise<string | undefined> {
    return this.mood === 'well' ? Promise.resolve(this.clones.get(reference)) : Promise.reject(new Error('down'));
  }

  delete(providerVoiceId: string): Promise<void> {
    if (this.mood !== 'well') return Promise.reject(new Error('down'));
    for (const [reference, id] of this.clones) if (id === providerVoiceId) this.clones.delete(reference);
    return Promise.resolve();
  }

  preview(providerVoiceId: string, text: string): Promise<Preview> {
    if (this.mood !== 'well') return Promise.reject(new Error('down'));
    return Promise.resolve({ mediaType: 'audio/mpeg', audio: Buffer.from(`${providerVoiceId}: ${text}`) });
  }
}
