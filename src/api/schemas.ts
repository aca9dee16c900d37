import Type, { type Static, type TSchema, type TUnsafe } from 'typebox';

/** Shapes that many resources share. */

export function Id(description: string) {
  return Type.String({ pattern: '^[0-9a-f]{24}$', errorCode: 'invalid_id', description });
}

export const IdParams = Type.Object({ id: Id('The object\'s id.') }, { additionalProperties: false });

/** E.164: a plus and 2 to 15 digits, the first not zero. */
export function PhoneNumber(description: string) {
  return Type.String({ pattern: '^\\+[1-9][0-9]{1,14}$', errorCode: 'invalid_phone_number', description });
}

/** The schema's type or null, as one schema where JSON Schema lets it be one: faster to check and to write than a choice of two. */
export function Nullable<Schema extends TSchema>(schema: Schema) {
  const { type, enum: values, const: only } = schema as { type?: unknown; enum?: unknown[]; const?: unknown };
  if (typeof type !== 'string' || only !== undefined) return Type.Union([schema, Type.Null()], 'errorCode' in schema ? { errorCode: schema.errorCode } : {}) as unknown as TUnsafe<Static<Schema> | null>;
  return Type.Unsafe<Static<Schema> | null>({ ...schema, type: [type, 'null'], ...(values ? { enum: [...values, null] } : {}) });
}

export const NullableString = Nullable(Type.String());
export const NullableInteger = Nullable(Type.Integer());
export const Timestamp = Type.String({ description: 'ISO 8601, UTC, with milliseconds.' });
export const NullableTimestamp = Nullable(Timestamp);

export function DateTime(description: string) {
  return Type.String({ format: 'date-time', description });
}

/** One of a fixed list of words. */
export function OneOf<const Values extends readonly string[]>(values: Values, options: object = {}) {
  return Type.Unsafe<Values[number]>({ type: 'string', enum: [...values], ...options });
}

/** Flat: string to string. */
export const Metadata = Type.Unsafe<Record<string, string>>({
  type: 'object', maxProperties: 50, errorCode: 'invalid_metadata',
  propertyNames: { maxLength: 40 }, additionalProperties: { type: 'string', maxLength: 500 },
  description: 'Yours; kept as it is, shown again, never sent to a model.',
});

/** Values of merge fields. */
export const Variables = Type.Unsafe<Record<string, string>>({
  type: 'object', maxProperties: 50, propertyNames: { minLength: 1, maxLength: 64 }, additionalProperties: { type: 'string', maxLength: 1000 },
  description: 'Values of {{merge fields}}.',
});

/** Any JSON object, as it is. */
export const Json = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true });

/** The answer to a deletion. */
export const Deleted = Type.Object({ id: Type.String(), object: Type.String(), deleted: Type.Literal(true) });
export type Deleted = Static<typeof Deleted>;

export const NoBody = Type.Unsafe<undefined>({});
export const NoQuery = Type.Object({}, { additionalProperties: false });

/** A Date as the API writes it. */
export function iso(date: Date): string;
export function iso(date: Date | null): string | null;
export function iso(date: Date | null): string | null {
  return date === null ? null : date.toISOString();
}
