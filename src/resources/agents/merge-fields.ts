/**
 * `{{name}}`, `{{lead.fields.city}}`, `{{name | "there"}}`: substituted once, never nested, never left as braces. A name
 * may be any column heading, such as `First name` or `Straße`.
 */
const FIELD = /\{\{([^{}|"]{1,128})(?:\|\s*"([^"]{0,200})"\s*)?\}\}/g;
/** Whatever else stands in double braces is no field we know. */
const LEFTOVER = /\{\{[^{}]{0,400}\}\}/g;

export interface Merged {
  text: string;
  /** Fields without a value and without a default, to be noted in the call's log. */
  unresolved: string[];
}

/** Values of fields by name; the first source that has a field wins. */
export type MergeSource = Readonly<Record<string, string>>;

/** What merge fields may say of the lead a call is with. */
export interface MergeLead {
  name: string;
  phone_number: string;
  email?: string | null;
  /** The account's own data: text, numbers and booleans can be said, nothing else. */
  fields: Readonly<Record<string, unknown>>;
}

/** Renders `text`. */
export function renderMergeFields(text: string, sources: readonly MergeSource[]): Merged {
  const unresolved = new Set<string>();
  let merged = '';
  let last = 0;
  for (const match of text.matchAll(FIELD)) {
    const [whole, inside = '', fallback] = match;
    const name = inside.trim();
    const value = valueOf(name, sources) ?? fallback;
    if (value === undefined) unresolved.add(name);
    merged += withoutBraces(text.slice(last, match.index), unresolved) + (value ?? '');
    last = match.index + whole.length;
  }
  return { text: merged + withoutBraces(text.slice(last), unresolved), unresolved: [...unresolved] };
}

/** `date` in words and other fields that every call has. */
export function builtInFields(now: Date, timezone: string, language: string, phoneNumber: string | undefined): MergeSource {
  const date = new Intl.DateTimeFormat(language, { dateStyle: 'full', timeZone: timezone }).format(now);
  const time = new Intl.DateTimeFormat(language, { timeStyle: 'short', timeZone: timezone }).format(now);
  return { date, time, ...(phoneNumber === undefined ? {} : { phone_number: phoneNumber }) };
}

/** The lead's own fields before its `fields`; each also under its full name, such as `lead.fields.city`. */
export function leadFields(lead: MergeLead | undefined): MergeSource[] {
  if (!lead) return [];
  const { name, phone_number, email, fields } = lead;
  const own = sayable({ name, phone_number, email });
  const further = sayable(fields);
  return [{ ...prefixed('lead.', own), ...prefixed('lead.fields.', further) }, own, further];
}

function sayable(values: Readonly<Record<string, unknown>>): MergeSource {
  return Object.fromEntries(Object.entries(values).flatMap(([name, value]) => (/^(string|number|boolean)$/.test(typeof value) ? [[name, String(value)]] : [])));
}

function prefixed(prefix: string, source: MergeSource): MergeSource {
  return Object.fromEntries(Object.entries(source).map(([name, value]) => [prefix + name, value]));
}

function valueOf(name: string, sources: readonly MergeSource[]): string | undefined {
  return sources.find((source) => Object.hasOwn(source, name))?.[name];
}

/** Only the template's own text is cleaned: a value may hold braces, and keeps them. */
function withoutBraces(text: string, unresolved: Set<string>): string {
  return text.replace(LEFTOVER, (field) => {
    unresolved.add(field.slice(2, -2).trim());
    return '';
  });
}
