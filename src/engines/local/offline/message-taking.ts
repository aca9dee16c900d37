import type { ChatMessage } from '../../engine.ts';
import { digitsIn, readBack } from './spoken-numbers.ts';

/** Taking a caller's name and number. All it knows it reads from the conversation so far; nothing is kept beside it. */

export const ASK_NAME = 'May I have your name, please?';
export const ASK_NUMBER = 'What number can we reach you on? Please say it digit by digit.';
const ASK_REST = 'And the rest of the number, please?';
const CONFIRM = 'Is that right?';
const MIN_DIGITS = 7;
const MAX_NAME_WORDS = 3;
const MAX_NAME_CHARS = 60;

const YES = /\b(yes|yeah|yep|yup|correct|right|sure|please|okay|ok|exactly|that's it|absolutely)\b/i;
const NO = /\b(no|nope|nah|not|wrong|incorrect)\b/i;
const INTRODUCED = /\b(?:my name is|my name's|the name is|this is|i am|i'm|it is|it's|call me)\s+(.+)$/i;
/** "I'm calling about ...": no name follows. */
const NO_NAME = /^(?:a|an|the|calling|looking|trying|here|not|just|about|interested|sorry|fine|good|going|wondering|having|in|on|at|my|your|ok|okay|sure|it|that|to|so|very|really|still|from|for)\b/i;
const NUMBER_OFFERED = /\b(?:my (?:phone |telephone |cell |mobile )?number|reach me|call me (?:back )?(?:at|on))\b/i;

export function isYes(text: string): boolean {
  return YES.test(text) && !NO.test(text);
}

export function isNo(text: string): boolean {
  return NO.test(text);
}

/** What the caller has given so far, read off the conversation up to and with its last message. */
export interface Given { name: string | undefined; digits: string }

/** Walks the conversation once: names and numbers given when asked for or offered, and what the caller took back. */
export function given(messages: ChatMessage[]): Given {
  const known: Given = { name: undefined, digits: '' };
  let asked = '';
  for (const message of messages) {
    if (message.role === 'assistant' && message.content !== '') asked = message.content;
    if (message.role !== 'user') continue;
    if (asksNumber(asked) || NUMBER_OFFERED.test(message.content)) takeDigits(known, message.content, asked);
    if (asked.includes(CONFIRM) && isNo(message.content)) known.digits = digitsIn(message.content);
    known.name = introducedName(message.content) ?? (asked.includes(ASK_NAME) ? plainName(message.content) : undefined) ?? known.name;
  }
  return known;
}

function takeDigits(known: Given, text: string, asked: string): void {
  const said = digitsIn(text);
  known.digits = asked.includes(ASK_REST) ? `${known.digits}${said}`.slice(0, 15) : said || known.digits;
}

/** What to say when the caller is giving name or number or confirming it; undefined when this message is about something else. */
export function takeMessage(messages: ChatMessage[], said: string, asked: string): string | undefined {
  const known = given(messages);
  if (asked.includes(CONFIRM)) return confirmed(known, said);
  if (asksNumber(asked) || NUMBER_OFFERED.test(said)) return numberGiven(known, said);
  if (asked.includes(ASK_NAME) && plainName(said) === undefined && introducedName(said) === undefined) {
    return isNo(said) ? undefined : `Sorry, I didn't get that. ${ASK_NAME}`;
  }
  if (known.name !== undefined && (asked.includes(ASK_NAME) || introducedName(said) !== undefined)) {
    return known.digits.length >= MIN_DIGITS ? `Thank you, ${known.name}. Someone will call you back. Is there anything else?` : `Thank you, ${known.name}. ${ASK_NUMBER}`;
  }
  return undefined;
}

function asksNumber(asked: string): boolean {
  return asked.includes(ASK_NUMBER) || asked.includes(ASK_REST);
}

function confirmed(known: Given, said: string): string | undefined {
  if (isNo(said)) return known.digits.length >= MIN_DIGITS ? readsBack(known) : `Sorry about that. ${ASK_NUMBER}`;
  if (!isYes(said)) return undefined;
  const thanks = known.name === undefined ? 'Thank you.' : `Thank you, ${known.name}.`;
  if (known.name === undefined) return `${thanks} ${ASK_NAME}`;
  return `${thanks} Someone will call you back on ${readBack(known.digits)}. Is there anything else?`;
}

function numberGiven(known: Given, said: string): string | undefined {
  if (known.digits.length >= MIN_DIGITS) return readsBack(known);
  if (known.digits !== '') return `I have ${readBack(known.digits)}. ${ASK_REST}`;
  return isNo(said) ? undefined : `Sorry, I didn't get a number. ${ASK_NUMBER}`;
}

function readsBack(known: Given): string {
  return `${known.name === undefined ? 'I have' : `${known.name}, I have`} ${readBack(known.digits)}. ${CONFIRM}`;
}

function introducedName(text: string): string | undefined {
  const rest = INTRODUCED.exec(text.replace(/[.!?,]+$/, ''))?.[1];
  return rest === undefined || NO_NAME.test(rest) ? undefined : nameFrom(rest, true);
}

/** An answer to "may I have your name": the words themselves. */
function plainName(text: string): string | undefined {
  const words = text.replace(/^(?:(?:yes|yeah|sure|of course|okay|ok|well|um|uh|hi|hello)[,. ]+)+/i, '');
  return nameFrom(words, false);
}

/** The first one to three words that can be a name; `capitalised`: only as far as they are written like one. */
function nameFrom(text: string, capitalised: boolean): string | undefined {
  const words: string[] = [];
  for (const word of (text.split(/[.!?,;]/)[0] ?? '').trim().split(/\s+/)) {
    if (!/^\p{L}[\p{L}'.-]*$/u.test(word) || words.length === MAX_NAME_WORDS || /^(?:and|i|from|my|calling|here)$/i.test(word)) break;
    if (capitalised && !/^\p{Lu}/u.test(word)) break;
    words.push(word[0]?.toUpperCase() + word.slice(1));
  }
  const name = words.join(' ').slice(0, MAX_NAME_CHARS);
  return name === '' || YES.test(name) || NO.test(name) ? undefined : name;
}
