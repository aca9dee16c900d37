import type { ErrorCode } from './errors.ts';

/** What a route takes of multipart/form-data. */
export interface MultipartRules {
  /** Name of the field that holds files. */
  files: string;
  maxFiles: number;
  maxFileBytes: number;
  /** Of the whole form: one more answers `body_too_large`. */
  maxBytes?: number;
  /** What one file over `maxFileBytes`, and one over `maxFiles`, answers. */
  tooLarge: ErrorCode;
  tooMany: ErrorCode;
  /** Text fields that become booleans, so that one schema checks form and JSON alike. */
  booleans?: readonly string[];
  /** Fields of the JSON body that stand for the files there; a form has none of them. */
  instead?: readonly string[];
}

/** A file of a multipart body, whole and in memory only. */
export interface Upload {
  filename: string;
  mediaType: string;
  data: Buffer;
  sha256: string;
}
