import { html, phrase, type Html } from './html.ts';
import { typesOf, type Schema } from './open-api.ts';

/** Fields of a schema as a list; nested ones fold. `names`: components with a section of their own to link to. */
export function fieldList(schema: Schema, names: ReadonlySet<string>): Html {
  const { properties = {}, required = [] } = schema;
  return html`<ul class="fields">${Object.entries(properties).map(([name, field]) => fieldItem(name, field, required.includes(name), names))}</ul>`;
}

/** One field, parameter or header. */
export function fieldItem(name: string, schema: Schema, required: boolean, names: ReadonlySet<string>): Html {
  const below = nested(schema);
  const rules = rulesOf(schema);
  const description = schema.description ?? below?.description;
  return html`<li><code class="name">${name}</code> <span class="type">${typeOf(schema, names)}</span>${required && html` <em class="required">required</em>`}
${description !== undefined && html`<p>${phrase(description)}</p>`}${rules !== '' && html`<p class="rules">${phrase(rules)}</p>`}${below !== undefined && html`<details><summary>Fields of <code>${name}</code></summary>${fieldList(below, names)}</details>`}</li>`;
}

/** `string`, `array of Agent`, `integer or null`. */
export function typeOf(schema: Schema, names: ReadonlySet<string>): Html {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1) ?? '';
    return names.has(name) ? html`<a href="#object-${name}">${name}</a>` : html`${name}`;
  }
  if (schema.anyOf) return html`${schema.anyOf.map((each, index) => html`${index > 0 && ' or '}${typeOf(each, names)}`)}`;
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (schema.format === 'binary') return html`file`;
  const types = typesOf(schema);
  return types.length === 0 ? html`any` : html`${types.map((type, index) => html`${index > 0 && ' or '}${type}${type === 'array' && html` of ${typeOf(schema.items ?? {}, names)}`}`)}`;
}

/** Bounds and allowed values as a sentence. */
function rulesOf(schema: Schema): string {
  if (schema.anyOf) return schema.anyOf.map(rulesOf).filter((rule) => rule !== '').join(' ');
  const { enum: values, items, pattern } = schema;
  const rules = [
    values && `one of ${values.map((value) => `\`${String(value)}\``).join(', ')}`,
    range(schema.minLength, schema.maxLength, ' characters'),
    range(schema.minimum, schema.maximum, ''),
    range(schema.minItems, schema.maxItems, ' items'),
    range(undefined, schema.maxProperties, ' keys'),
    pattern && `form \`${pattern}\``,
    schema.default !== undefined && `default \`${JSON.stringify(schema.default)}\``,
  ].filter((rule) => typeof rule === 'string');
  const own = rules.length === 0 ? '' : `${(rules[0] ?? '').charAt(0).toUpperCase()}${rules.join('; ').slice(1)}.`;
  const each = items ? rulesOf(items) : '';
  return [own, each === '' ? '' : `Each: ${each.charAt(0).toLowerCase()}${each.slice(1)}`].filter((part) => part !== '').join(' ');
}

function range(low: number | undefined, high: number | undefined, unit: string): string | undefined {
  if (low === undefined) return high === undefined ? undefined : `at most ${high}${unit}`;
  return high === undefined ? `at least ${low}${unit}` : `${low} to ${high}${unit}`;
}

/** The object whose fields stand below this one. */
function nested(schema: Schema): Schema | undefined {
  if (schema.properties) return schema;
  if (schema.anyOf) return schema.anyOf.map(nested).find((each) => each !== undefined);
  return schema.items ? nested(schema.items) : undefined;
}
