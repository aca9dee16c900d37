/** A piece of a page that is safe to send as it is. */
export interface Html { html: string }

type Part = Html | string | number | undefined | false | readonly Part[];

/** Markup with its values escaped; values that are markup themselves, and lists of them, go in as they are. */
export function html(strings: TemplateStringsArray, ...values: Part[]): Html {
  return { html: strings.reduce((text, string, index) => text + string + (index < values.length ? markup(values[index]) : ''), '') };
}

/** Text of ours as paragraphs and lists; knows `code`, [links](/docs) and lines that begin with a dash. */
export function prose(text: string): Html {
  const blocks = text.split('\n\n').map((block) => {
    if (!block.startsWith('- ')) return `<p>${inline(block)}</p>`;
    return `<ul>${block.split('\n').map((line) => `<li>${inline(line.replace(/^- /, ''))}</li>`).join('')}</ul>`;
  });
  return { html: blocks.join('') };
}

/** The same without paragraphs. */
export function phrase(text: string): Html {
  return { html: inline(text) };
}

/** A block of code that can be copied. */
export function code(text: string, label = ''): Html {
  return html`<figure class="code">${label !== '' && html`<figcaption>${label}</figcaption>`}<pre tabindex="0"><code>${text}</code></pre></figure>`;
}

/** JSON as people like to read it: what is short stays on one line. */
export function json(value: unknown): string {
  return layOut(value, '');
}

const MAX_LINE = 72;

function layOut(value: unknown, indent: string): string {
  const flat = JSON.stringify(value, null, 1)?.replaceAll(/\n\s*/g, ' ') ?? 'null';
  if (typeof value !== 'object' || value === null || (indent !== '' && flat.length + indent.length <= MAX_LINE)) return flat;
  const below = `${indent}  `;
  const lines = Array.isArray(value)
    ? value.map((each) => layOut(each, below))
    : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${layOut(each, below)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return lines.length === 0 ? `${open}${close}` : `${open}\n${lines.map((line) => below + line).join(',\n')}\n${indent}${close}`;
}

function inline(text: string): string {
  return escape(text)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll(/\[([^\]]+)\]\((\/[^)\s]*)\)/g, '<a href="$2">$1</a>');
}

function markup(value: Part): string {
  if (value === undefined || value === false) return '';
  if (typeof value === 'string' || typeof value === 'number') return escape(String(value));
  return 'html' in value ? value.html : value.map(markup).join('');
}

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
