import { termsOf, topicTerms } from './terms.ts';

/**
 * What an agent's prompt says about the world, without what it says about the agent's behaviour. A sentence counts as an
 * instruction, and is never spoken, when it opens with an order ("Always", "Do not", "Ask"), speaks to the agent ("You
 * are", "your task") or of the caller, the prompt or a tool. A heuristic: a fact in such words is lost, which is the safe side.
 */

const MAX_PROMPT_CHARS = 64 * 1024;
const MAX_FACTS = 400;
const MAX_FACT_CHARS = 300;

const ORDER = new RegExp(
  `^(?:please |then |also |and |but |instead,? )*(?:${[
    'you', 'your', 'always', 'never', 'do', "don't", 'be', 'act', 'speak', 'talk', 'say', 'tell', 'ask', 'answer', 'greet', 'keep', 'use', 'avoid', 'try', 'make', 'ensure', 'remember', 'respond',
    'reply', 'repeat', 'confirm', 'collect', 'take', 'offer', 'help', 'assist', 'stay', 'if', 'when', 'whenever', 'unless', 'once', 'before', 'after', 'only', 'must', 'should', 'let', 'end', 'transfer',
    'wait', 'start', 'begin', 'follow', 'refer', 'note', 'introduce', 'provide', 'give', 'explain', 'mention', 'pretend', 'ignore', 'role', 'goal', 'task', 'style', 'tone', 'rules?', 'instructions?', 'persona', 'objective',
  ].join('|')})\\b`,
  'i',
);
const ABOUT_THE_AGENT = /\b(you|your|yourself|the caller|callers|the user|users|customer's|prompt|instructions?|system message|language model|assistant|chatbot|tool|function call|secret|confidential|internal|password|api key|do not (?:say|tell|reveal|share|mention))\b/i;
/** "Ask" may be an order, but a sentence that opens with one of these names is a line of data ("Hours: ..."). */
const LABEL = /^[A-Z][\w /&'-]{1,30}:\s+\S/;
const BULLET = /^\s*(?:[-*\u2022]|\d+[.)])\s+/;
const K1 = 1.2;
const B = 0.75;
const TOPIC_WEIGHT = 0.5;
/** A second sentence is added when it answers nearly as well. */
const SECOND_SHARE = 0.85;

interface Fact { text: string; terms: string[] }

export class Facts {
  readonly #facts: Fact[];
  readonly #frequency = new Map<string, number>();
  readonly #meanLength: number;

  constructor(prompt: string) {
    this.#facts = factSentences(prompt).map((text) => ({ text, terms: termsOf(text) }));
    for (const { terms } of this.#facts) {
      for (const term of new Set(terms)) this.#frequency.set(term, (this.#frequency.get(term) ?? 0) + 1);
    }
    this.#meanLength = this.#facts.reduce((sum, fact) => sum + fact.terms.length, 0) / Math.max(1, this.#facts.length);
  }

  /** The one or two sentences that answer the question; none when the prompt does not. */
  answer(question: string): string[] {
    const asked = new Set(termsOf(question));
    const topic = new Set(topicTerms(question));
    const ranked = this.#facts
      .map((fact) => ({ fact, score: this.#score(fact, asked, topic) }))
      .filter(({ fact, score }) => score > 0 && answers(fact, asked, topic))
      .sort((a, b) => b.score - a.score);
    const [best, second] = ranked;
    if (!best) return [];
    return second && second.score >= best.score * SECOND_SHARE ? [best.fact.text, second.fact.text] : [best.fact.text];
  }

  /** BM25 over the question's words, and at half weight over its topic's. */
  #score(fact: Fact, asked: Set<string>, topic: Set<string>): number {
    let score = 0;
    for (const term of new Set(fact.terms)) {
      const weight = asked.has(term) ? 1 : topic.has(term) ? TOPIC_WEIGHT : 0;
      if (weight === 0) continue;
      const count = fact.terms.filter((other) => other === term).length;
      const documents = this.#frequency.get(term) ?? 1;
      const rarity = Math.log(1 + (this.#facts.length - documents + 0.5) / (documents + 0.5));
      score += (weight * rarity * count * (K1 + 1)) / (count + K1 * (1 - B + (B * fact.terms.length) / this.#meanLength));
    }
    return score;
  }
}

/** One shared word is enough where the question is short; a long question that shares one word of many is about something else. */
function answers(fact: Fact, asked: Set<string>, topic: Set<string>): boolean {
  const shared = [...asked].filter((term) => fact.terms.includes(term)).length;
  const onTopic = fact.terms.some((term) => topic.has(term));
  if (onTopic) return shared > 0 || asked.size <= 2;
  return shared > 0 && topic.size === 0 && shared >= Math.ceil(asked.size / 3);
}

/** The prompt's sentences that may be said aloud, as sentences. */
export function factSentences(prompt: string): string[] {
  const facts: string[] = [];
  for (const line of prompt.slice(0, MAX_PROMPT_CHARS).split(/\r?\n/)) {
    if (/^\s*#/.test(line)) continue;
    for (const sentence of line.replace(BULLET, '').split(/(?<=[.!?])\s+(?=[A-Z0-9"'])/)) {
      const text = sentence.trim();
      if (isFact(text) && facts.length < MAX_FACTS) facts.push(/[.!?]$/.test(text) ? text : `${text}.`);
    }
  }
  return facts;
}

function isFact(text: string): boolean {
  if (text.length > MAX_FACT_CHARS || text.endsWith('?') || text.endsWith(':') || text.split(/\s+/).length < 3) return false;
  if (ABOUT_THE_AGENT.test(text)) return false;
  return LABEL.test(text) ? !ORDER.test(text.slice(0, text.indexOf(':'))) : !ORDER.test(text);
}
