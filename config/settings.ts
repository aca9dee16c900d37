/** The only place that reads the environment. One table: what it documents is what is read. */
import { BLOCKED_DESTINATIONS } from './destinations.ts';

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

export interface PortRange { from: number; to: number }

/** Everything an operator can set, read and checked. Durations as their names say. */
export interface Settings {
  port: number;
  host: string;
  /** Address browsers reach us at, without a trailing slash. */
  publicUrl: string;
  sipPort: number;
  /** Address SDP, Via and Contact name. */
  publicAddress: string;
  rtpPorts: PortRange;
  /** First port of the media workers' browser sockets; worker n takes `browserPorts + n`. */
  browserPorts: number;
  dataDir: string;
  /** Empty: the embedded PostgreSQL. */
  databaseUrl: string;
  /** Empty: a 0600 file made at first start. */
  masterKey: string;
  /** 0: one per core but one. */
  mediaWorkers: number;
  drainSeconds: number;
  /** `host:port` entries that the address rules let through. */
  allowPrivateAddresses: string[];
  llmBaseUrl: string;
  llmApiKey: string;
  llmModel: string;
  maxCallsPerCore: number;
  accountConcurrency: number;
  /** Beginnings of numbers, E.164. */
  blockedDestinations: string[];
  maxVoicesPerAccount: number;
  /** Requests a second by name of their limit; what is absent keeps its default. */
  rateLimits: Record<string, number>;
  logLevel: LogLevel;
  mediaTimeoutSeconds: number;
  /** Empty: top-ups are refused. */
  stripeSecretKey: string;
  stripeWebhookSecret: string;
  stripeApiBase: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

interface Setting<Value> {
  name: string;
  /** As an operator would write it; '' means unset. */
  fallback: string;
  meaning: string;
  /** Throws a sentence that says what is expected. */
  parse: (text: string) => Value;
}

/** A setting that cannot be used; the message names it and says what is expected. */
export class SettingError extends Error {
  override readonly name = 'SettingError';
}

const LOG_LEVELS: readonly LogLevel[] = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

const TABLE: { readonly [Key in keyof Settings]: Setting<Settings[Key]> } = {
  port: { name: 'PORT', fallback: '8080', meaning: 'HTTP port: API, /talk, health.', parse: wholeNumber(1, 65_535) },
  host: { name: 'HOST', fallback: '0.0.0.0', meaning: 'Address that HTTP, SIP and media sockets bind to.', parse: text },
  publicUrl: { name: 'PUBLIC_URL', fallback: '', meaning: 'How browsers reach this service, e.g. https://voice.example.com. Empty: http://localhost:PORT.', parse: webAddress },
  sipPort: { name: 'SIP_PORT', fallback: '5060', meaning: 'SIP port, UDP and TCP.', parse: wholeNumber(1, 65_535) },
  publicAddress: { name: 'PUBLIC_ADDRESS', fallback: '127.0.0.1', meaning: 'IP address that SDP, Via and Contact name: the one carriers and phones can reach.', parse: text },
  rtpPorts: { name: 'RTP_PORTS', fallback: '20000-29999', meaning: 'UDP ports for RTP and RTCP, shared among the media workers.', parse: portRange },
  browserPorts: { name: 'BROWSER_PORTS', fallback: '0', meaning: 'First TCP port of the media workers\' browser sockets, one each. 0: PORT + 1.', parse: wholeNumber(0, 65_000) },
  dataDir: { name: 'DATA_DIR', fallback: './data', meaning: 'Directory of the embedded database, the recordings and the master key; made with mode 0700.', parse: text },
  databaseUrl: { name: 'DATABASE_URL', fallback: '', meaning: 'A PostgreSQL 15 or newer of your own, e.g. postgres://user:password@host/database. Empty: the embedded one.', parse: databaseAddress },
  masterKey: { name: 'MASTER_KEY', fallback: '', meaning: '32 bytes, hex or base64, that every stored secret depends on. Empty: DATA_DIR/master.key, made at first start.', parse: masterKey },
  mediaWorkers: { name: 'MEDIA_WORKERS', fallback: '0', meaning: 'Media worker threads. 0: one per core but one, at least one.', parse: wholeNumber(0, 256) },
  drainSeconds: { name: 'DRAIN_SECONDS', fallback: '300', meaning: 'How long live calls may go on after SIGTERM.', parse: wholeNumber(0, 86_400) },
  allowPrivateAddresses: { name: 'ALLOW_PRIVATE_ADDRESSES', fallback: '', meaning: 'Comma-separated host:port that webhooks may reach although they are private. For development; logged at start.', parse: hostPorts },
  llmBaseUrl: { name: 'LLM_BASE_URL', fallback: '', meaning: 'OpenAI-compatible endpoint, e.g. http://127.0.0.1:11434/v1. Empty: the offline agent answers.', parse: webAddress },
  llmApiKey: { name: 'LLM_API_KEY', fallback: '', meaning: 'Its key.', parse: text },
  llmModel: { name: 'LLM_MODEL', fallback: '', meaning: 'Its model.', parse: text },
  maxVoicesPerAccount: { name: 'MAX_VOICES_PER_ACCOUNT', fallback: '50', meaning: 'Cloned voices that an account may have in each mode.', parse: wholeNumber(0, 10_000) },
  maxCallsPerCore: { name: 'MAX_CALLS_PER_CORE', fallback: '6', meaning: 'Calls admitted at once for each core: what the embedded engines carry.', parse: wholeNumber(1, 1000) },
  accountConcurrency: { name: 'ACCOUNT_CONCURRENCY', fallback: '20', meaning: 'Calls that one account may have at once.', parse: wholeNumber(1, 100_000) },
  blockedDestinations: { name: 'BLOCKED_DESTINATIONS', fallback: BLOCKED_DESTINATIONS.join(','), meaning: 'Comma-separated beginnings of numbers that are never called. The default: premium-rate, satellite and unassigned numbers. none: every number may be called.', parse: numberPrefixes },
  rateLimits: { name: 'RATE_LIMITS', fallback: 'read=100,write=25,call=5,accountRead=400,accountWrite=100,unauthenticated=5,public=50', meaning: 'Requests a second: reads, writes and placed calls of an API key, reads and writes of an account, requests of an address without a valid key, and for what anybody may have. Twice as many may come at once.', parse: rates },
  logLevel: { name: 'LOG_LEVEL', fallback: 'info', meaning: `One of ${LOG_LEVELS.join(', ')}.`, parse: logLevel },
  mediaTimeoutSeconds: { name: 'MEDIA_TIMEOUT_SECONDS', fallback: '30', meaning: 'Seconds without RTP after which a phone call ends with media_timeout.', parse: wholeNumber(1, 3600) },
  stripeSecretKey: { name: 'STRIPE_SECRET_KEY', fallback: '', meaning: 'Key of the Stripe account that top-ups are paid to. Empty: credit is given on the console only.', parse: text },
  stripeWebhookSecret: { name: 'STRIPE_WEBHOOK_SECRET', fallback: '', meaning: 'Signing secret of the Stripe webhook that points to PUBLIC_URL/webhooks/stripe.', parse: text },
  stripeApiBase: { name: 'STRIPE_API_BASE', fallback: 'https://api.stripe.com', meaning: 'Where Stripe is reached; another address is for tests.', parse: webAddress },
};

/** Reads and checks every setting. Throws SettingError, a sentence that names the setting that is wrong. */
export function readSettings(env: Environment = process.env): Settings {
  const settings = readTable(env);
  const httpPort = settings.port;
  if (settings.publicUrl === '') settings.publicUrl = `http://localhost:${httpPort}`;
  if (settings.browserPorts === 0) settings.browserPorts = Math.min(httpPort + 1, 65_000);
  if ((settings.llmBaseUrl === '') !== (settings.llmModel === '')) {
    throw new SettingError('LLM_BASE_URL and LLM_MODEL belong together: set both for a language model, or neither for the offline agent.');
  }
  if ((settings.stripeSecretKey === '') !== (settings.stripeWebhookSecret === '')) {
    throw new SettingError('STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET belong together: without the second no payment would ever be credited. Set both, or neither.');
  }
  return settings;
}

/** The table as Markdown, for the documentation. */
export function settingsAsMarkdown(): string {
  const rows = Object.values(TABLE).map(({ name, fallback, meaning }) => `| \`${name}\` | ${fallback === '' ? '' : `\`${fallback}\``} | ${meaning} |`);
  return ['| Setting | Default | Meaning |', '|---|---|---|', ...rows, ''].join('\n');
}

function readTable(env: Environment): Settings {
  const read = <Key extends keyof Settings>(key: Key): [Key, Settings[Key]] => [key, readOne(TABLE[key], env)];
  return Object.fromEntries((Object.keys(TABLE) as (keyof Settings)[]).map(read)) as unknown as Settings;
}

function readOne<Value>(setting: Setting<Value>, env: Environment): Value {
  const given = env[setting.name]?.trim() ?? '';
  try {
    return setting.parse(given === '' ? setting.fallback : given);
  } catch (error) {
    // What was given is not repeated: it may be a secret.
    throw new SettingError(`${setting.name} ${error instanceof Error ? error.message : String(error)}`);
  }
}

function text(value: string): string {
  return value;
}

function wholeNumber(from: number, to: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < from || number > to) throw new Error(`must be a whole number from ${from} to ${to}.`);
    return number;
  };
}

function portRange(value: string): PortRange {
  const [, from, to] = /^(\d{1,5})-(\d{1,5})$/.exec(value) ?? [];
  const range = { from: Number(from), to: Number(to) };
  if (from === undefined || range.from < 1024 || range.to > 65_535 || range.to - range.from < 3) {
    throw new Error('must be a range of at least four ports between 1024 and 65535, such as 20000-29999.');
  }
  return range;
}

function webAddress(value: string): string {
  if (value === '') return '';
  const url = URL.parse(value);
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '' || url.hash !== '') {
    throw new Error('must be an http or https address without user, query or fragment.');
  }
  return value.replace(/\/+$/, '');
}

function databaseAddress(value: string): string {
  if (value !== '' && !/^postgres(ql)?:\/\//.test(value)) throw new Error('must be empty or begin with postgres:// or postgresql://.');
  return value;
}

function masterKey(value: string): string {
  if (value === '' || /^[0-9a-fA-F]{64}$/.test(value) || (/^[\w+/-]{43}=?$/.test(value) && Buffer.from(value, 'base64').length === 32)) return value;
  throw new Error('must be 32 bytes, written as 64 hexadecimal digits or as base64; `openssl rand -hex 32` makes one.');
}

function hostPorts(value: string): string[] {
  const entries = value.split(',').map((entry) => entry.trim()).filter((entry) => entry !== '');
  if (entries.some((entry) => !/^(\[[0-9a-fA-F:]+\]|[\w.-]+):\d{1,5}$/.test(entry))) {
    throw new Error('must be a comma-separated list of host:port, such as 127.0.0.1:9000,[::1]:9000.');
  }
  return entries;
}

function numberPrefixes(value: string): string[] {
  if (value === 'none') return [];
  const prefixes = value.split(',').map((entry) => entry.trim()).filter((entry) => entry !== '');
  if (prefixes.some((prefix) => !/^\+\d{1,15}$/.test(prefix))) throw new Error('must be none, or a comma-separated list of beginnings of numbers, such as +881,+1900.');
  return prefixes;
}

const RATES = ['read', 'write', 'call', 'accountRead', 'accountWrite', 'unauthenticated', 'public'];

function rates(value: string): Record<string, number> {
  const entries = value.split(',').map((entry) => entry.trim()).filter((entry) => entry !== '').map((entry) => entry.split('='));
  for (const [name = '', number = ''] of entries) {
    if (!RATES.includes(name) || !/^\d{1,7}(\.\d{1,3})?$/.test(number) || Number(number) <= 0) throw new Error(`must be a comma-separated list such as read=100,write=25 of ${RATES.join(', ')}.`);
  }
  return Object.fromEntries(entries.map(([name, number]) => [name, Number(number)]));
}

function logLevel(value: string): LogLevel {
  const level = LOG_LEVELS.find((known) => known === value);
  if (!level) throw new Error(`must be one of ${LOG_LEVELS.join(', ')}.`);
  return level;
}
