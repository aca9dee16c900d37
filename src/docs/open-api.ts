/** The part of OpenAPI 3.1 that our document uses. */

export interface Schema {
  [keyword: string]: unknown;
  $ref?: string;
  title?: string;
  description?: string;
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  allOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  additionalProperties?: Schema | boolean;
  pattern?: string;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  minProperties?: number;
  maxProperties?: number;
  default?: unknown;
  examples?: unknown[];
}

export interface Reference { $ref: string }

export interface Parameter { name: string; in: 'path' | 'query' | 'header'; required?: boolean; description?: string; schema: Schema }

/** Bodies by media type. */
export type Content = Record<string, { schema: Schema; example?: unknown }>;

export interface Response {
  description: string;
  headers?: Record<string, Reference>;
  content?: Content;
  /** Every `code` that this status can carry here. */
  'x-error-codes'?: string[];
}

export interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security?: Record<string, string[]>[];
  /** The scope that the key must hold; `any_key`: every valid key. */
  'x-scope'?: string;
  parameters: (Parameter | Reference)[];
  requestBody?: { required: boolean; content: Content };
  responses: Record<string, Response>;
}

export interface Tag { name: string; description: string }

export interface OpenApiDocument {
  openapi: '3.1.0';
  info: { title: string; version: string; summary: string; description: string; license: { name: string; identifier: string } };
  servers: { url: string; description: string }[];
  security: Record<string, string[]>[];
  tags: Tag[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: {
    schemas: Record<string, Schema>;
    parameters: Record<string, Parameter>;
    headers: Record<string, { description: string; schema: Schema }>;
    securitySchemes: Record<string, Schema>;
  };
}

/** The types of a schema; none: any. */
export function typesOf({ type }: Schema): string[] {
  return type === undefined ? [] : [type].flat();
}

/** `createAgent` of `create-agent`, `create_agent` or `create agent`. */
export function camel(words: string): string {
  return words.replaceAll(/[-_ .]+(\w)/g, (_, letter: string) => letter.toUpperCase());
}

export function pascal(words: string): string {
  const name = camel(words);
  return name.charAt(0).toUpperCase() + name.slice(1);
}
