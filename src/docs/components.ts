import { pascal, type Schema } from './open-api.ts';

const ONE_BELOW = ['items', 'additionalProperties', 'propertyNames', 'contains', 'not', 'if', 'then', 'else'];
const LIST_BELOW = ['anyOf', 'allOf', 'oneOf', 'prefixItems'];
const MAP_BELOW = ['properties', 'patternProperties', '$defs'];
/** What our validator alone understands. */
const HIDDEN = ['$id', 'errorCode'];

/**
 * Schemas as the document shows them. A resource (known by its `object` tag) and whatever has a `title` stands once under
 * `#/components/schemas`, and everything else refers to it.
 */
export class Components {
  readonly schemas: Record<string, Schema> = {};
  readonly #sources = new Map<string, string>();

  /** Throws when two schemas that differ would have one name. */
  show(schema: Schema): Schema {
    const name = nameOf(schema);
    return name === undefined ? this.#copy(schema) : this.showAs(name, schema);
  }

  /** The same under a name of its own. */
  showAs(name: string, schema: Schema): Schema {
    const source = JSON.stringify(schema);
    const known = this.#sources.get(name);
    if (known === undefined) {
      this.#sources.set(name, source);
      this.schemas[name] = {};
      this.schemas[name] = this.#copy(schema);
    } else if (known !== source) throw new Error(`Two schemas would be named ${name} in the OpenAPI document: give one of them a title.`);
    return { $ref: `#/components/schemas/${name}` };
  }

  #copy(schema: Schema): Schema {
    const shown: Schema = {};
    for (const [keyword, value] of Object.entries(schema)) {
      if (ONE_BELOW.includes(keyword) && typeof value === 'object') shown[keyword] = this.show(value as Schema);
      else if (LIST_BELOW.includes(keyword)) shown[keyword] = (value as Schema[]).map((each) => this.show(each));
      else if (MAP_BELOW.includes(keyword)) shown[keyword] = Object.fromEntries(Object.entries(value as Record<string, Schema>).map(([name, each]) => [name, this.show(each)]));
      else if (!HIDDEN.includes(keyword)) shown[keyword] = value;
    }
    const { errorCode } = schema;
    return errorCode === undefined ? shown : { ...shown, 'x-error-code': errorCode };
  }
}

/** `Agent` of `{ object: 'agent', … }`, `AgentList` of a list of them; a `title` wins. */
export function nameOf({ title, properties }: Schema): string | undefined {
  if (title !== undefined) return pascal(title);
  const tag = properties?.['object']?.const;
  if (typeof tag !== 'string') return undefined;
  if (tag !== 'list') return pascal(tag);
  const item = properties?.['data']?.items;
  const name = item && nameOf(item);
  return name === undefined ? undefined : `${name}List`;
}

/** Every `errorCode` in a schema. */
export function errorCodesIn(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const own = (schema as Schema)['errorCode'];
  return [...(typeof own === 'string' ? [own] : []), ...Object.values(schema).flatMap(errorCodesIn)];
}
