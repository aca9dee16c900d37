/** Words that turn-taking listens for, by primary language subtag. Lower case, without punctuation. */

interface TurnWords {
  /** Said while the other speaks, to say "go on": never a reason to stop. */
  acknowledgements: string[];
  /** Acknowledgements of several words. */
  phrases: string[];
  /** Ask the agent to stop, however short. */
  commands: string[];
  /** A sentence that ends in one of these goes on. */
  openEndings: string[];
}

const EN: TurnWords = {
  acknowledgements: ['uh-huh', 'uhhuh', 'mm-hmm', 'mhm', 'mmhmm', 'mm', 'hm', 'hmm', 'uh', 'um', 'ah', 'oh', 'okay', 'ok', 'yeah', 'yep', 'yup', 'yes', 'right', 'sure', 'alright', 'great', 'good', 'cool', 'nice', 'exactly', 'understood'],
  phrases: ['i see', 'got it', 'of course', 'all right', 'makes sense', 'go on', 'uh huh', 'mm hmm', 'that\'s right', 'thank you'],
  commands: ['stop', 'wait', 'no', 'nope', 'sorry', 'pardon', 'excuse me', 'hold on', 'hang on', 'one moment', 'never mind', 'shut up'],
  openEndings: 'a an the and or but so because if that which who to of in on at for with from by as is are was were be been am my your his her our their this these those it i you we they he she not um uh er'.split(' '),
};

const DE: TurnWords = {
  acknowledgements: ['ja', 'jaja', 'genau', 'okay', 'ok', 'gut', 'mhm', 'hm', 'hmm', 'aha', 'ah', 'ach', 'klar', 'stimmt', 'richtig', 'alles', 'verstehe', 'sicher', 'ähm', 'äh'],
  phrases: ['ach so', 'alles klar', 'ja genau', 'in ordnung', 'sehr gut', 'ich verstehe'],
  commands: ['stopp', 'stop', 'halt', 'nein', 'moment', 'warte', 'warten sie', 'einen moment', 'entschuldigung', 'wie bitte'],
  openEndings: 'der die das den dem ein eine einen einem einer und oder aber weil wenn dass zu von in im auf an am für mit aus bei als ist sind war mein meine ihr ihre unser ich wir sie er nicht ähm äh'.split(' '),
};

const ES: TurnWords = {
  acknowledgements: ['sí', 'si', 'ajá', 'aja', 'vale', 'ok', 'okay', 'claro', 'bien', 'bueno', 'ya', 'mm', 'mhm', 'exacto', 'perfecto', 'eh'],
  phrases: ['de acuerdo', 'muy bien', 'está bien', 'por supuesto', 'ya veo', 'así es'],
  commands: ['para', 'pare', 'espera', 'espere', 'no', 'perdón', 'disculpe', 'un momento', 'alto'],
  openEndings: 'el la los las un una y o pero porque si que de a en con por para como es son era mi su tu nuestro yo nosotros este esta eh'.split(' '),
};

const FR: TurnWords = {
  acknowledgements: ['oui', 'ouais', 'ok', 'okay', 'd\'accord', 'bien', 'mhm', 'hm', 'hmm', 'ah', 'voilà', 'exactement', 'parfait', 'euh'],
  phrases: ['je vois', 'très bien', 'bien sûr', 'c\'est ça', 'tout à fait', 'ça marche'],
  commands: ['stop', 'arrêtez', 'arrête', 'attendez', 'attends', 'non', 'pardon', 'un instant', 'un moment', 'excusez-moi'],
  openEndings: 'le la les un une des et ou mais parce que qui de du à au en dans avec pour par comme est sont mon ma mes votre notre je nous vous ce cette euh'.split(' '),
};

const NONE: TurnWords = { acknowledgements: ['ok', 'okay', 'mm', 'mhm', 'hm', 'hmm', 'ah'], phrases: [], commands: ['stop'], openEndings: [] };

const BY_LANGUAGE: Record<string, TurnWords> = { en: EN, de: DE, es: ES, fr: FR };

/** The lists for a BCP 47 language; for one without lists of its own, sounds that mean the same nearly everywhere. */
export function turnWords(language: string): TurnWords {
  return BY_LANGUAGE[language.split('-')[0]?.toLowerCase() ?? ''] ?? NONE;
}
