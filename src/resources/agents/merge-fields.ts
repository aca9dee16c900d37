/** `{{name}}`, `{{lead.fields.city}}`, `{{name | "there"}}`: substituted once, never nested, never left as braces. */
const FIELD = /\{\{\s*([\w.-]{1,128})\s*(?:\|\s*"([^"]{0,200})"\s*)?\}\}/g;
/** Whatever else stands in double braces is no field we know. */
const LEFTOVER = /\{\{[^{}]{0,400}\}\}/g;

export interface Merged {
  text: string;
  /** Fields without a value and without a default, to be noted in the call's log. */
  unresolved: string[];
}

/** Renders `text`; the first source that has a field wins. */
export function renderMergeFields(text: string, sources: readonly Readonly<Record<string, string>>[]): Merged {
  const unresolved = new Set<string>();
  let merged = '';
  let last = 0;
  for (const match of text.matchAll(FIELD)) {
    const [whole, name = '', fallback] = match;
    const value = valueOf(name, sources) ?? fallback;
    if (value === undefined) unresolved.add(name);
    merged += withoutBraces(text.slice(last, match.index), unresolved) + (value ?? '');
    last = match.index + whole.length;
  }
  return { text: merged + withoutBraces(text.slice(last), unresolved), unresolved: [...unresolved] };
}

/** `date` in words and other fields that every call has. */
export function builtInFields(now: Date, timezone: string, language: string, phoneNumber: string | undefined): Record<string, string> {
  const date = new Intl.DateTimeFormat(language, { dateStyle: 'full', timeZone: timezone }).format(now);
  const time = new Intl.DateTimeFormat(language, { timeStyle: 'short', timeZone: timezone }).format(now);
  return { date, time, ...(phoneNumber === undefined ? {} : { phone_number: phoneNumber }) };
}

function valueOf(name: string, sources: readonly Readonly<Record<string, string>>[]): string | undefined {
  return sources.find((source) => Object.hasOwn(source, name))?.[name];
}

/** Only the template's own text is cleaned: a value may hold braces, and keeps them. */
function withoutBraces(text: string, unresolved: Set<string>): string {
  return text.replace(LEFTOVER, (field) => {
    unresolved.add(field.slice(2, -2).trim());
    return '';
  });
}
