import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';
import type { FastifySerializerCompiler } from 'fastify';

const compile = SerializerSelector()({}, {});

/** Fastify's own serializer: an answer holds what its schema names, nothing else. Compiled when first asked, as validators are. */
export const compileSerializer: FastifySerializerCompiler<unknown> = (route) => {
  let write: ((data: unknown) => string) | undefined;
  return (data) => {
    write ??= compile(route as never) as (data: unknown) => string;
    return write(data);
  };
};
