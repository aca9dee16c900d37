import ipaddr from 'ipaddr.js';
import { ApiError } from '../../api/errors.ts';
import { DEFAULT_CODECS, type CreateSipTrunk, type SipTrunk, type TrunkSettings, type UpdateSipTrunk } from './schema.ts';

/** What a trunk is made of, without what is seen of its peer. */
export interface TrunkDraft {
  name: string;
  direction: SipTrunk['direction'];
  allowed_addresses: string[];
  codecs: SipTrunk['codecs'];
  dtmf_mode: SipTrunk['dtmf_mode'];
  max_concurrent_calls: number | null;
  enabled: boolean;
  settings: TrunkSettings;
}

const SETTINGS: TrunkSettings = {
  host: null, port: null, transport: 'udp', outbound_proxy: null, username: null, realm: null, from_domain: null, caller_id_mode: 'from',
  register: { enabled: false, expires_seconds: 3600 }, media_encryption: 'disabled', session_timer_seconds: 1800, options_interval_seconds: 60,
  calls_per_second: null, number_format: 'e164', headers: {},
};
const DRAFT: Omit<TrunkDraft, 'name' | 'settings'> = { direction: 'inbound', allowed_addresses: [], codecs: [...DEFAULT_CODECS], dtmf_mode: 'auto', max_concurrent_calls: null, enabled: true };

/** Headers that the SIP stack writes itself (RFC 3261 section 20, and their compact forms). */
const OWN_HEADERS = new Set([
  'via', 'from', 'to', 'call-id', 'cseq', 'contact', 'max-forwards', 'route', 'record-route', 'content-length', 'content-type', 'authorization', 'proxy-authorization',
  'www-authenticate', 'proxy-authenticate', 'allow', 'supported', 'require', 'expires', 'p-asserted-identity', 'remote-party-id', 'v', 'f', 't', 'i', 'm', 'l', 'c', 'k',
]);

/** Settings as they are stored, or the defaults where an older row says nothing. */
export function settingsOf(stored: Partial<TrunkSettings>): TrunkSettings {
  return { ...SETTINGS, ...stored };
}

/** A trunk from a body, on what was there before. Null means the default. Throws ApiError for what does not fit together. */
export function draftOf(body: CreateSipTrunk | (UpdateSipTrunk & { name: string }), hasPassword: boolean, before?: TrunkDraft): TrunkDraft {
  const { name, direction, allowed_addresses, codecs, max_concurrent_calls, password: _password, register, ...rest } = body;
  const old = before ?? { ...DRAFT, settings: SETTINGS };
  const { dtmf_mode = old.dtmf_mode, enabled = old.enabled, ...plain } = rest;
  const settings = { ...old.settings, ...defaulted(plain), ...(register === undefined ? {} : { register: { ...SETTINGS.register, ...register } }) };
  const addresses = changed(allowed_addresses, toRanges, [], old.allowed_addresses);
  const draft: TrunkDraft = {
    name, settings, dtmf_mode, enabled,
    direction: direction ?? before?.direction ?? directionOf(settings, addresses.length > 0, hasPassword),
    allowed_addresses: addresses,
    codecs: changed(codecs, (given) => given, [...DEFAULT_CODECS], old.codecs),
    max_concurrent_calls: changed(max_concurrent_calls, (given) => given, null, old.max_concurrent_calls),
  };
  check(draft, hasPassword);
  return draft;
}

/** Absent leaves what was, null is the default. */
function changed<Given, Kept>(given: Given | null | undefined, read: (given: Given) => Kept, fallback: Kept, old: Kept): Kept {
  if (given === undefined) return old;
  return given === null ? fallback : read(given);
}

/** Null is the default of a setting. */
function defaulted(rest: object): Partial<TrunkSettings> {
  return Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, value ?? SETTINGS[name as keyof TrunkSettings]])) as Partial<TrunkSettings>;
}

function directionOf({ host }: TrunkSettings, hasAddresses: boolean, hasPassword: boolean): SipTrunk['direction'] {
  if (host === null) return 'inbound';
  return hasAddresses || hasPassword ? 'both' : 'outbound';
}

function check({ direction, settings, allowed_addresses }: TrunkDraft, hasPassword: boolean): void {
  const { host, username, register, headers } = settings;
  const hasCredentials = username !== null && hasPassword;
  if (hasPassword && username === null) throw missing('username', 'A password needs its username.');
  const knowsCallers = allowed_addresses.length > 0 || hasCredentials;
  if (direction !== 'outbound' && !knowsCallers) throw missing('allowed_addresses', 'A trunk that takes calls needs allowed_addresses, or username and password.');
  const knowsPeer = host !== null || hasCredentials;
  if (direction !== 'inbound' && !knowsPeer) throw missing('host', 'A trunk that places calls needs a host; or username and password, with which the peer registers here.');
  if (register.enabled) requireRegistrar(host, hasCredentials);
  const own = Object.keys(headers).find((header) => OWN_HEADERS.has(header.toLowerCase()));
  if (own !== undefined) throw new ApiError('invalid_parameter', `headers.${own} is written by SIP itself.`, { param: `headers.${own}` });
}

function requireRegistrar(host: string | null, hasCredentials: boolean): void {
  const message = 'To register with the peer, the trunk needs host, username and password.';
  if (host === null) throw missing('host', message);
  if (!hasCredentials) throw missing('username', message);
}

function missing(param: string, message: string): ApiError {
  return new ApiError('missing_parameter', message, { param });
}

/** Ranges with the host bits cleared, as PostgreSQL's cidr wants them; a bare address is a range of one. */
function toRanges(addresses: readonly string[]): string[] {
  return addresses.map((text, index) => {
    try {
      if (!text.includes('/')) return single(text);
      const [address, bits] = ipaddr.parseCIDR(text);
      const network = address.kind() === 'ipv4' ? ipaddr.IPv4.networkAddressFromCIDR(text) : ipaddr.IPv6.networkAddressFromCIDR(text);
      return `${network.toString()}/${bits}`;
    } catch {
      throw new ApiError('invalid_parameter', `allowed_addresses[${index}] must be an IP address or a range such as 203.0.113.0/24.`, { param: `allowed_addresses[${index}]` });
    }
  });
}

function single(text: string): string {
  if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text)) throw new Error('not an address');
  const address = ipaddr.process(text);
  return `${address.toString()}/${address.kind() === 'ipv4' ? 32 : 128}`;
}
