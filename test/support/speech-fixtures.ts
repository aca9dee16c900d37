import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { decodePcmu, encodePcmu } from '../../media/codec/g711.ts';
import { resampleAll } from '../../media/resampler.ts';

/** Recordings of human speech from Debian packages, with what was said. The words come from the packages, never from a recogniser. */

const INSTALL = 'apt-get install -y asterisk-core-sounds-en asterisk-core-sounds-en-wav pocketsphinx-testdata';
const ASTERISK_SOUNDS = '/usr/share/asterisk/sounds/en_US_f_Allison';
const ASTERISK_TEXTS = '/usr/share/doc/asterisk-core-sounds-en/core-sounds-en.txt.gz';
const POCKETSPHINX = '/usr/share/pocketsphinx/test/data';

export interface SpeechFixture { path: string; transcript: string }

/** Throws with the one line to run when the recordings are not installed. */
export function requireSpeechFixtures(): void {
  for (const file of [ASTERISK_SOUNDS, ASTERISK_TEXTS, POCKETSPHINX]) {
    if (!existsSync(file)) throw new Error(`The tests need recordings of human speech (${file} is missing). Run: ${INSTALL}`);
  }
}

/** Telephone prompts of one professional speaker at 8 kHz: whole phrases of at least three words, in order of name. */
export function asteriskPrompts(): SpeechFixture[] {
  requireSpeechFixtures();
  const fixtures: SpeechFixture[] = [];
  for (const line of gunzipSync(readFileSync(ASTERISK_TEXTS)).toString('utf8').split('\n')) {
    const [name, transcript] = /^([\w-]+): +(.+)$/.exec(line)?.slice(1) ?? [];
    if (!name || !transcript || /[[\]<>]|\.\.\./.test(transcript) || transcript.split(/\s+/).length < 3) continue;
    const file = path.join(ASTERISK_SOUNDS, `${name}.wav`);
    if (existsSync(file)) fixtures.push({ path: file, transcript });
  }
  return fixtures;
}

/** One prompt by its file name without `.wav`, whatever its length. */
export function asteriskPrompt(name: string): SpeechFixture {
  requireSpeechFixtures();
  const text = gunzipSync(readFileSync(ASTERISK_TEXTS)).toString('utf8');
  const transcript = text.split('\n').find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2).trim();
  if (!transcript) throw new Error(`There is no Asterisk prompt "${name}"`);
  return { path: path.join(ASTERISK_SOUNDS, `${name}.wav`), transcript };
}

/** Several volunteers reading: a novel (LibriVox) and playing cards, 16 kHz. */
export function readSpeech(): SpeechFixture[] {
  requireSpeechFixtures();
  return [...sphinxSet('librivox', 'transcription'), ...sphinxSet('cards', 'cards.transcription')];
}

function sphinxSet(folder: string, list: string): SpeechFixture[] {
  const base = path.join(POCKETSPHINX, folder);
  const names = new Set(readdirSync(base));
  const fixtures: SpeechFixture[] = [];
  for (const line of readFileSync(path.join(base, list), 'utf8').split('\n')) {
    const [transcript, name] = /^<s>(.*)<\/s>\s*\((.+)\)/.exec(line)?.slice(1) ?? [];
    if (transcript && name && names.has(`${name}.wav`)) fixtures.push({ path: path.join(base, `${name}.wav`), transcript: transcript.trim() });
  }
  return fixtures;
}

/** The samples of a mono PCM16 WAV at the wanted rate. */
export function readSpeechFile(file: string, sampleRate: 8000 | 16_000): Int16Array {
  const bytes = readFileSync(file);
  const fileRate = bytes.readUInt32LE(24);
  let at = 12;
  while (bytes.toString('latin1', at, at + 4) !== 'data') at += 8 + bytes.readUInt32LE(at + 4);
  const length = Math.min(bytes.readUInt32LE(at + 4), bytes.length - at - 8);
  const pcm = new Int16Array(length >> 1);
  for (let i = 0; i < pcm.length; i++) pcm[i] = bytes.readInt16LE(at + 8 + 2 * i);
  return fileRate === sampleRate ? pcm : resampleAll(pcm, fileRate, sampleRate);
}

/** What 16 kHz speech is after a telephone line: 8 kHz, G.711 mu-law, and back. */
export function overTelephone(pcm: Int16Array): Int16Array {
  const narrow = resampleAll(pcm, 16_000, 8000);
  const coded = new Uint8Array(narrow.length);
  encodePcmu(narrow, 0, narrow.length, coded);
  decodePcmu(coded, 0, coded.length, narrow);
  return resampleAll(narrow, 8000, 16_000);
}

const NUMBER_WORDS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

/** Lower-case words without punctuation; small numbers spelt out, so that "press 1" equals "press one". */
export function normalWords(text: string): string[] {
  return text
    .toLowerCase()
    .replace(/\b(10|\d)\b/g, (digits) => NUMBER_WORDS[Number(digits)] ?? digits)
    .replace(/[-\u2013\u2014]/g, ' ')
    .replace(/[^a-z0-9' ]/g, '')
    .replace(/'/g, '')
    .split(/\s+/)
    .filter((word) => word !== '');
}

/** Word errors (substituted, missing, added) and words of the reference. */
export function wordErrors(reference: string, heard: string): { errors: number; words: number } {
  const wanted = normalWords(reference);
  const got = normalWords(heard);
  let row = Array.from({ length: got.length + 1 }, (_, index) => index);
  for (const [i, word] of wanted.entries()) {
    const next = [i + 1];
    for (const [j, other] of got.entries()) {
      next.push(Math.min((row[j] ?? 0) + (word === other ? 0 : 1), (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return { errors: row[got.length] ?? 0, words: wanted.length };
}

/** Word error rate over many pairs, 0 to 1 and beyond. */
export function wordErrorRate(pairs: { reference: string; heard: string }[]): number {
  const counts = pairs.map(({ reference, heard }) => wordErrors(reference, heard));
  const words = counts.reduce((sum, count) => sum + count.words, 0);
  return counts.reduce((sum, count) => sum + count.errors, 0) / Math.max(1, words);
}
