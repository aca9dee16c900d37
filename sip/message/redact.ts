/** A message as text for a trace: credentials and media keys taken out. */

const SECRET_HEADERS = /^(authorization|proxy-authorization|www-authenticate|proxy-authenticate|authentication-info)[ \t]*:[^\r\n]*(?:\r\n[ \t][^\r\n]*)*/gim;
const SECRET_ATTRIBUTES = /^(a=crypto:\d+ \S+|a=ice-pwd|k)[ :=][^\r\n]*/gim;

/** The message's text (UTF-8) with the values of credential headers and SDP keys replaced by `[redacted]`. */
export function redactedText(bytes: Buffer): string {
  return bytes
    .toString('utf8')
    .replace(SECRET_HEADERS, (_, name: string) => `${name}: [redacted]`)
    .replace(SECRET_ATTRIBUTES, (_, name: string) => `${name} [redacted]`);
}
