import type { Speech } from '../engines/engine.ts';

/** What the agent says of its own accord. */
export interface Lines { apology: string; cannotGoOn: string; goodbye: string; timeIsUp: string }

const EN: Lines = {
  apology: 'I\'m sorry, something went wrong on my side. Could you say that again, please?',
  cannotGoOn: 'I\'m sorry, I can\'t go on right now. Please call again later. Goodbye.',
  goodbye: 'Goodbye.',
  timeIsUp: 'I\'m sorry, our time is up. Thank you for calling. Goodbye.',
};

const BY_LANGUAGE: Record<string, Lines> = {
  en: EN,
  de: {
    apology: 'Entschuldigung, bei mir ist etwas schiefgegangen. Können Sie das bitte noch einmal sagen?',
    cannotGoOn: 'Entschuldigung, ich kann gerade nicht weitermachen. Bitte rufen Sie später noch einmal an. Auf Wiederhören.',
    goodbye: 'Auf Wiederhören.',
    timeIsUp: 'Unsere Zeit ist leider um. Vielen Dank für Ihren Anruf. Auf Wiederhören.',
  },
  es: {
    apology: 'Lo siento, algo ha fallado por mi parte. ¿Puede repetirlo, por favor?',
    cannotGoOn: 'Lo siento, ahora no puedo continuar. Por favor, llame más tarde. Adiós.',
    goodbye: 'Adiós.',
    timeIsUp: 'Lo siento, se nos ha acabado el tiempo. Gracias por llamar. Adiós.',
  },
  fr: {
    apology: 'Désolé, un problème est survenu de mon côté. Pouvez-vous répéter, s\'il vous plaît ?',
    cannotGoOn: 'Désolé, je ne peux pas continuer pour le moment. Merci de rappeler plus tard. Au revoir.',
    goodbye: 'Au revoir.',
    timeIsUp: 'Désolé, notre temps est écoulé. Merci de votre appel. Au revoir.',
  },
};

/** The lines in a BCP 47 language; English where there are none. */
export function linesFor(language: string): Lines {
  return BY_LANGUAGE[language.split('-')[0]?.toLowerCase() ?? ''] ?? EN;
}

export interface LineVoice { model: string; voice: string; speed: number; language: string }

/** Voices kept; the one rendered first goes first. About 0.4 MB each. */
const MAX_ENTRIES = 64;

/** Lines rendered ahead of need, by voice, so that the agent can still apologise when its voice engine has failed. */
export class RenderedLines {
  readonly #lines = new Map<string, Promise<Speech[] | undefined>>();
  readonly #ready = new Map<string, Speech[]>();

  /** The speech of a line that is ready. */
  get(voice: LineVoice, text: string): Speech[] | undefined {
    return this.#ready.get(keyOf(voice, text));
  }

  /** Renders a line once; a failure is forgotten, so that the next call tries again. Never rejects. */
  async render(voice: LineVoice, text: string, speak: (text: string) => AsyncIterable<Speech>, signal: AbortSignal): Promise<void> {
    const key = keyOf(voice, text);
    let rendering = this.#lines.get(key);
    if (!rendering) {
      rendering = collect(speak(text), signal).catch(() => undefined);
      this.#lines.set(key, rendering);
    }
    const speech = await rendering;
    if (!speech || speech.length === 0) this.#lines.delete(key);
    else this.#keep(key, speech);
  }

  #keep(key: string, speech: Speech[]): void {
    this.#ready.set(key, speech);
    if (this.#ready.size <= MAX_ENTRIES) return;
    const oldest = this.#ready.keys().next().value as string;
    this.#ready.delete(oldest);
    this.#lines.delete(oldest);
  }
}

/** An engine ends quietly when its signal aborts: what it gave until then is no whole line. */
async function collect(speech: AsyncIterable<Speech>, signal: AbortSignal): Promise<Speech[] | undefined> {
  const pieces: Speech[] = [];
  for await (const piece of speech) pieces.push(piece);
  return signal.aborted ? undefined : pieces;
}

function keyOf(voice: LineVoice, text: string): string {
  return JSON.stringify([voice.model, voice.voice, voice.speed, voice.language, text]);
}

/** This thread's lines: a voice is rendered once, not once a call. */
export const threadLines = new RenderedLines();
