/** How text is prepared for PostgreSQL's full text search, the same for passages and for questions. */

/** Scripts whose words PostgreSQL cannot tell apart. */
const DENSE_RUN = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu;
const LATIN_MARKS = /(?<=\p{Script=Latin})\p{M}+/gu;
const words = new Intl.Segmenter('en', { granularity: 'word' });

/** Without the accents of Latin letters, and with spaces between words where the script has none. */
export function toSearchText(text: string): string {
  return text.normalize('NFKD').replace(LATIN_MARKS, '').normalize('NFC').replaceAll('ß', 'ss').replace(DENSE_RUN, spaced);
}

function spaced(run: string): string {
  return ` ${Array.from(words.segment(run), ({ segment }) => segment).join(' ')} `;
}

/** Frequent words that few other languages share, without accents; names are those of PostgreSQL's text search configurations. */
const FUNCTION_WORDS: Readonly<Record<string, string>> = {
  english: 'the and of to is you that it for with are this be on your we have from or by at',
  german: 'der die das und ist nicht sie mit den von ein eine zu auf fur sich wir werden ihre bei oder auch',
  french: 'le les et est des une pour dans vous que qui sur avec nous pas par au votre sont ce ou',
  spanish: 'el los y es las una para con que por se su del lo como esta al mas o nuestro',
  italian: 'il di che e per una non con sono del della si gli le nel alla dei anche nostro piu',
  portuguese: 'o os e um uma para com nao que do da em no na por se mais ao seu voce',
  dutch: 'de het een en van is dat niet voor op met zijn te wij u bij aan ook worden naar',
  swedish: 'och att det som en ar pa for av med inte den till har vi om ett kan du eller',
  danish: 'og at det som en er pa for af med ikke den til har vi om et kan du eller de',
  norwegian: 'og a det som en er pa for av med ikke den til har vi om et kan du eller deg',
  finnish: 'ja on ei se etta ovat tai voi olla kun mutta niin myos joka jos meidan teidan hanen sita kanssa',
  hungarian: 'a az es hogy nem is egy van meg vagy ez csak mint ha de ki lehet kell volt nekem',
  romanian: 'si de la cu este nu pe in un o sa care pentru din sunt mai se ca sau noastre',
  turkish: 've bir bu da de icin ile ne var olarak daha cok gibi degil en kadar sonra olan ama siz',
};
const LANGUAGES = Object.entries(FUNCTION_WORDS).map(([config, list]) => ({ config, words: new Set(list.split(' ')) }));
const SAMPLE_CHARACTERS = 20_000;

/**
 * The configuration that stems `text` (already prepared) best: that of the language whose function words it has most of.
 * A wrong guess costs little, for questions are stemmed alike.
 */
export function searchConfigOf(text: string): string {
  const sample = text.slice(0, SAMPLE_CHARACTERS).toLowerCase();
  const cyrillic = sample.match(/\p{Script=Cyrillic}/gu)?.length ?? 0;
  const latin = sample.match(/\p{Script=Latin}/gu)?.length ?? 0;
  if (cyrillic > latin) return 'russian';
  if (latin === 0) return 'simple';
  const found = sample.match(/\p{L}+/gu) ?? [];
  let best = { config: 'english', score: 0 };
  for (const { config, words: known } of LANGUAGES) {
    const score = found.filter((word) => known.has(word)).length;
    if (score > best.score) best = { config, score };
  }
  return best.config;
}
