import { pino, type DestinationStream, type Logger } from 'pino';

/** Whatever else happens, none of these leaves the process in a log line. */
const REDACTED_KEYS = [
  'authorization', 'cookie', 'password', 'secret', 'client_secret', 'clientSecret', 'token', 'masterKey', 'apiKey', 'llmApiKey',
  'system_prompt', 'systemPrompt', 'opening_message', 'openingMessage', 'metadata', 'variables', 'transcript', 'body',
];
const SECRET_SHAPES = /\b(wv_(?:live|test)_|whsec_|wvc_|wvs_|wvr_)[\w-]{8,}/g;

/** Structured JSON logs. Secrets are redacted by key, and once more by shape in the finished line. */
export function createLog(options: { level: string; destination?: DestinationStream }): Logger {
  const paths = REDACTED_KEYS.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]);
  return pino({
    level: options.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths, censor: '[redacted]' },
    hooks: { streamWrite: (line) => line.replace(SECRET_SHAPES, '$1[redacted]') },
  }, options.destination ?? pino.destination({ fd: 1, sync: true }));
}
