import { code, html, json as formatJson, phrase, prose, type Html } from './html.ts';
import type { Content, OpenApiDocument, Operation, Parameter, Reference, Response, Schema } from './open-api.ts';
import { method, renderPage, type NavGroup } from './page.ts';
import { resolve, sampleOf } from './samples.ts';
import { fieldItem, fieldList, typeOf } from './schema-view.ts';

interface Entry { verb: string; path: string; operation: Operation }

const JSON_TYPE = 'application/json';

/** `/docs`: every operation, by group, with each resource once. */
export function referencePage(document: OpenApiDocument): string {
  const entries = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([verb, operation]) => ({ verb: verb.toUpperCase(), path, operation })));
  const objects = objectsByTag(document, entries);
  const names = new Set([...objects.values()].flat());
  const sections = document.tags.map((tag) => {
    const here = entries.filter(({ operation }) => operation.tags.includes(tag.name));
    return html`<section class="group" id="${anchor(tag.name)}"><header><h2>${tag.name}</h2>${prose(tag.description)}</header>
${(objects.get(tag.name) ?? []).map((name) => objectView(name, document, names))}${here.map((entry) => operationView(entry, document, names))}</section>`;
  });
  const intro = html`<section class="intro"><h1>API reference</h1>${prose(document.info.description)}
<p>Version <code>${document.info.version}</code>. Machine-readable: <a href="/openapi.json">OpenAPI 3.1</a>.</p>${code(curl({ verb: 'GET', path: '/v1/agents', operation: {} as Operation }, document), 'A first request')}</section>`;
  return renderPage({ path: '/docs', title: 'API reference', nav: navOf(document, entries), body: html`${intro}${sections}` });
}

function navOf(document: OpenApiDocument, entries: Entry[]): NavGroup[] {
  return document.tags.map(({ name }) => ({
    title: name,
    href: `#${anchor(name)}`,
    entries: entries.filter(({ operation }) => operation.tags.includes(name)).map(({ verb, operation }) => ({ title: operation.summary, href: `#${operation.operationId}`, badge: verb })),
  }));
}

/** Components that a group's operations answer with, each under the first group that does. */
function objectsByTag({ components, tags }: OpenApiDocument, entries: Entry[]): Map<string, string[]> {
  const seen = new Set<string>();
  return new Map(tags.map(({ name }) => [name, entries.filter(({ operation }) => operation.tags.includes(name)).flatMap(({ operation }) => {
    const found = refName(successOf(operation)[1]?.content?.[JSON_TYPE]?.schema);
    const item = found?.endsWith('List') ? refName(components.schemas[found]?.properties?.['data']?.items) : found;
    if (item === undefined || item === 'Deleted' || seen.has(item)) return [];
    seen.add(item);
    return [item];
  })]));
}

function objectView(name: string, { components: { schemas } }: OpenApiDocument, names: ReadonlySet<string>): Html {
  const schema = schemas[name] ?? {};
  return html`<article class="object" id="object-${name}"><div><h3>The ${words(name)} object</h3>${schema.description !== undefined && prose(schema.description)}${fieldList(schema, names)}</div>
<aside>${code(formatJson(sampleOf(schema, schemas, true)), words(name))}</aside></article>`;
}

function operationView(entry: Entry, document: OpenApiDocument, names: ReadonlySet<string>): Html {
  const { verb, path, operation } = entry;
  const parameters = operation.parameters.map((each) => parameterOf(each, document)).filter((parameter) => parameter.in !== 'header');
  return html`<article class="operation" id="${operation.operationId}"><div>
<h3><a href="#${operation.operationId}">${operation.summary}</a></h3>
<p class="path">${method(verb)} <code>${path}</code></p>
${prose(operation.description)}
${parameters.length > 0 && html`<h4>Parameters</h4><ul class="fields">${parameters.map(({ name, schema, required, description }) => fieldItem(name, { ...schema, ...(description === undefined ? {} : { description }) }, required ?? false, names))}</ul>`}
${operation.requestBody && bodyView(operation.requestBody.content, document, names)}
${answersView(operation, document, names)}
</div><aside>${code(curl(entry, document), operation.operationId)}</aside></article>`;
}

function bodyView(content: Content, { components: { schemas } }: OpenApiDocument, names: ReadonlySet<string>): Html {
  return html`${Object.entries(content).map(([media, { schema }]) => {
    const target = resolve(schema, schemas);
    return html`<h4>Body <small>${media}</small></h4>${target.properties ? fieldList(target, names) : html`<p>${typeOf(target, names)}</p>`}`;
  })}`;
}

function answersView(operation: Operation, { components: { schemas } }: OpenApiDocument, names: ReadonlySet<string>): Html {
  const good = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'));
  const bad = Object.entries(operation.responses).filter(([status]) => !status.startsWith('2'));
  return html`<h4>Answers</h4><ul class="answers">${good.map(([status, answer]) => html`<li><b>${status}</b> ${answerView(answer, schemas, names)}</li>`)}</ul>
<details class="errors"><summary>Errors</summary><ul class="answers">${bad.map(([status, { description, 'x-error-codes': codes = [] }]) => html`<li><b>${status}</b> ${phrase(description.split(' Codes:')[0] ?? '')} ${codes.map((each) => html`<a class="error" href="/docs/errors#${each}">${each}</a> `)}</li>`)}</ul></details>`;
}

function answerView({ description, content = {} }: Response, schemas: Readonly<Record<string, Schema>>, names: ReadonlySet<string>): Html {
  const shown = Object.entries(content).map(([media, { schema }]) => {
    if (media !== JSON_TYPE) return html`<code>${media}</code> `;
    const name = refName(schema) ?? '';
    if (name.endsWith('List')) return html`A list of ${typeOf(schemas[name]?.properties?.['data']?.items ?? {}, names)}. `;
    return names.has(name) ? html`${typeOf(schema, names)} ` : html`${fieldList(resolve(schema, schemas), names)}`;
  });
  return html`${description} ${shown}`;
}

/** The request as a command that can be pasted. */
function curl({ verb, path, operation }: Entry, { servers }: OpenApiDocument): string {
  const isPublic = operation.security?.length === 0;
  return [
    `curl ${verb === 'GET' ? '' : `-X ${verb} `}${servers[0]?.url ?? ''}${path.replaceAll(/\{\w+\}/g, '6741c2a09be24c3a8d10e6f2')}`,
    ...(isPublic ? [] : ['-H "Authorization: Bearer $WIREVOICE_API_KEY"']),
    ...(verb === 'POST' && !isPublic ? ['-H "Idempotency-Key: $(uuidgen)"'] : []),
    ...bodyOptions(operation),
  ].join(' \\\n  ');
}

function bodyOptions({ requestBody }: Operation): string[] {
  const json = requestBody?.content[JSON_TYPE];
  return json === undefined ? [] : [`-H "Content-Type: ${JSON_TYPE}"`, `-d '${formatJson(json.example ?? {}).replaceAll("'", String.raw`'\''`)}'`];
}

function successOf(operation: Operation): [string, Response | undefined] {
  return Object.entries(operation.responses).find(([status]) => status.startsWith('2')) ?? ['', undefined];
}

function parameterOf(parameter: Parameter | Reference, { components }: OpenApiDocument): Parameter {
  return '$ref' in parameter ? components.parameters[parameter.$ref.split('/').at(-1) ?? '']! : parameter;
}

function refName(schema: Schema | undefined): string | undefined {
  return schema?.$ref?.split('/').at(-1);
}

function anchor(name: string): string {
  return `group-${name.toLowerCase().replaceAll(' ', '-')}`;
}

/** `phone number` of `PhoneNumber`, `API key` of `ApiKey`. */
function words(name: string): string {
  const text = name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
  return text.replace(/\b(api|sip|mcp)\b/g, (word) => word.toUpperCase());
}
