import type { ChatMessage } from '../../engine.ts';
import { Facts } from './facts.ts';
import { ASK_NAME, isNo, isYes, takeMessage } from './message-taking.ts';

/** What the offline agent answers: rules, in order, over the conversation alone. */

export interface Answer { text: string; endsCall: boolean }

const GOODBYE = /\b(good ?bye|bye|bye-bye|see you|talk to you later|that(?:'s| is| will be|'ll be) (?:all|it|everything)|hang up|have a (?:good|nice|great) (?:day|one|evening))\b/i;
const GREETING = /^(?:(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|greetings|there|yo)[\s,.!?]*)+$/i;
const THANKS = /^(?:(?:okay|ok|great|perfect|oh|well)[\s,.!]*)*(?:thanks|thank you|cheers)\b[^?]*$/i;
const REPEAT = /\b(?:repeat that|say that again|say again|come again|pardon|what did you say|didn't (?:hear|catch|get) (?:you|that)|can you repeat)\b/i;
const WANTS_PERSON = /\b(?:message|call (?:me )?back|callback|speak (?:to|with)|talk (?:to|with) (?:a|an|some|the)|real person|human|someone|manager|representative|operator|appointment|book|reserv\w+|schedule)\b/i;
const ABOUT_ITSELF = /\b(?:are you (?:a |an )?(?:robot|bot|human|real|machine|ai|computer|person)|who are you|who am i (?:talking|speaking) (?:to|with)|what are you|your name)\b/i;
const OFFERED_MESSAGE = 'Would you like to leave a message?';
const ANYTHING_ELSE = /(?:anything else|can I help you)\?$/;

const GOODBYE_TEXT = 'Thank you for calling. Goodbye.';

/** The answer to the last message, which must be the caller's. */
export function answerTo(messages: ChatMessage[]): Answer {
  const said = messages.findLast((message) => message.role === 'user')?.content.trim() ?? '';
  const asked = messages.findLast((message) => message.role === 'assistant' && message.content !== '')?.content.trim() ?? '';
  if (endsCall(said, asked)) return { text: GOODBYE_TEXT, endsCall: true };
  return { text: reply(messages, said, asked), endsCall: false };
}

function endsCall(said: string, asked: string): boolean {
  if (GOODBYE.test(said) && !said.endsWith('?')) return true;
  return ANYTHING_ELSE.test(asked) && isNo(said) && said.split(/\s+/).length <= 4;
}

function reply(messages: ChatMessage[], said: string, asked: string): string {
  if (!/[\p{L}\p{N}]/u.test(said)) return "Sorry, I didn't catch that. Could you say it again?";
  if (REPEAT.test(said) && asked !== '') return asked;
  return smallTalk(said, asked) ?? takeMessage(messages, said, asked) ?? fromPrompt(messages, said) ?? offer(said, asked);
}

function smallTalk(said: string, asked: string): string | undefined {
  if (GREETING.test(said)) return 'Hello! How can I help you?';
  if (THANKS.test(said)) return "You're welcome. Is there anything else?";
  if (ABOUT_ITSELF.test(said)) return "I'm an automated assistant, not a person. I can answer simple questions and take a message.";
  if (asked.endsWith(OFFERED_MESSAGE)) {
    if (isYes(said)) return `Of course. ${ASK_NAME}`;
    if (isNo(said)) return 'All right. Is there anything else?';
  }
  return undefined;
}

function fromPrompt(messages: ChatMessage[], said: string): string | undefined {
  const prompt = messages.filter((message) => message.role === 'system').map((message) => message.content).join('\n');
  const facts = new Facts(prompt).answer(said);
  return facts.length > 0 ? facts.join(' ') : undefined;
}

function offer(said: string, asked: string): string {
  if (WANTS_PERSON.test(said)) return `I can take a message so that someone calls you back. ${ASK_NAME}`;
  if (isNo(said) && asked.includes(ASK_NAME)) return "That's fine. Is there anything else?";
  return `I'm sorry, I don't have that. ${OFFERED_MESSAGE}`;
}
