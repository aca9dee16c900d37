import type { TranscriptItem } from '../calls/worker-protocol.ts';
import type { ChatMessage } from '../engines/engine.ts';

/** Characters of history a model is given; a call of hours keeps its newest part. */
const MAX_HISTORY_CHARS = 40_000;

const SPOKEN_STYLE = `You are on a live phone call. What you write is spoken aloud as it stands: short sentences, plain words, no lists, no markdown, no emoji, numbers as they are said. One question at a time. Answer in one to three sentences.
The caller's words come from speech recognition: expect misheard words, above all names, numbers and e-mail addresses. Take the likeliest meaning; ask back when it matters. "[keypad] 12" means that the caller pressed those keys.
A message of yours that ends in " —" was cut off there by the caller, who did not hear the rest.
When the conversation is over, say goodbye and call the end_call tool.`;

/** Why a reply is asked for when the caller said nothing new. */
export const GO_ON_NOTE = 'A noise cut you off; the caller said nothing. Go on from where you were cut off.';

/** What the model is given: the agent's instructions, how to speak, and what each side has heard so far. `note` is added last. */
export function promptMessages(options: { systemPrompt: string; language: string; told?: readonly string[]; items: readonly TranscriptItem[]; note?: string }): ChatMessage[] {
  const system = `${options.systemPrompt}\n\n${SPOKEN_STYLE}\nSpeak the language ${options.language} unless the caller asks for another.${toldDuringCall(options.told ?? [])}`;
  const messages: ChatMessage[] = [{ role: 'system', content: system }, ...history(options.items)];
  if (options.note) messages.push({ role: 'system', content: options.note });
  return messages;
}

function toldDuringCall(told: readonly string[]): string {
  return told.length === 0 ? '' : `\n\nWhat you have learnt since the call began; use it, but do not say where it comes from:\n${told.join('\n')}`;
}

/** Turns of one side that follow each other become one message: some models refuse two in a row. */
function history(items: readonly TranscriptItem[]): ChatMessage[] {
  const messages: { role: 'user' | 'assistant'; content: string }[] = [];
  for (const item of newest(items)) {
    const content = item.role === 'agent' ? heardByCaller(item) : item.text;
    if (!content || item.role === 'tool') continue;
    const role = item.role === 'agent' ? 'assistant' : 'user';
    const last = messages.at(-1);
    if (last?.role === role) last.content += ` ${content}`;
    else messages.push({ role, content });
  }
  return messages;
}

function heardByCaller(item: TranscriptItem): string {
  if (!item.interrupted) return item.text;
  return item.heardText ? `${item.heardText} —` : '';
}

function newest(items: readonly TranscriptItem[]): readonly TranscriptItem[] {
  let chars = 0;
  for (let index = items.length - 1; index >= 0; index--) {
    chars += items[index]?.text.length ?? 0;
    if (chars > MAX_HISTORY_CHARS) return items.slice(index + 1);
  }
  return items;
}
