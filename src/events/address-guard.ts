import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Azure's metadata and DNS address is public by its number and private by its nature. */
const REFUSED = new Set(['168.63.129.16']);
/** IPv6 is let through only inside global unicast, less what tunnels or documents. */
const IPV6_GLOBAL = ipaddr.parseCIDR('2000::/3');
const IPV6_REFUSED = ['2002::/16', '2001::/23', '2001:db8::/32', '3fff::/20'].map((range) => ipaddr.parseCIDR(range));

/** An address that the rules refuse. */
export class UnsafeAddressError extends Error {
  override readonly name = 'UnsafeAddressError';
  readonly code = 'UNSAFE_ADDRESS';
}

/** Whether a literal IP address is loopback, link-local, private, reserved or otherwise none of the public internet's. */
export function isUnsafeAddress(address: string): boolean {
  if (!ipaddr.isValid(address) || REFUSED.has(address)) return true;
  const parsed = ipaddr.parse(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.range() !== 'unicast';
  if (parsed.isIPv4MappedAddress()) return isUnsafeAddress(parsed.toIPv4Address().toString());
  return !parsed.match(IPV6_GLOBAL) || IPV6_REFUSED.some((range) => parsed.match(range));
}

export interface AddressGuardOptions {
  /** `host:port` entries let through although they are private (ALLOW_PRIVATE_ADDRESSES). */
  allowed: readonly string[];
  /** The resolver; node:dns by default. */
  resolve?: typeof lookup;
}

/** Keeps requests that users name (webhooks) out of private networks, at save and again at the moment of connecting. */
export class AddressGuard {
  readonly #allowed: ReadonlySet<string>;
  readonly #resolve: typeof lookup;

  constructor(options: AddressGuardOptions) {
    this.#allowed = new Set(options.allowed);
    this.#resolve = options.resolve ?? lookup;
  }

  allows(url: URL): boolean {
    const port = url.port || (url.protocol === 'https:' ? '443' : '80');
    return this.#allowed.has(`${bare(url.hostname)}:${port}`);
  }

  /** Why `text` cannot be an address to send to; undefined when it can. A name that does not resolve now passes: each delivery checks again. */
  async fault(text: string): Promise<string | undefined> {
    const url = URL.parse(text);
    if (!url || !/^https?:$/.test(url.protocol)) return 'must be an http or https address';
    if (url.username !== '' || url.password !== '') return 'must not carry a user or password';
    if (this.allows(url)) return undefined;
    const host = bare(url.hostname);
    const addresses = ipaddr.isValid(host) ? [host] : await this.#addressesOf(host);
    return addresses.some(isUnsafeAddress) ? 'must be a public address, not loopback, link-local, private or reserved' : undefined;
  }

  /** A `lookup` for one connection: every resolved address must be safe, and the checked one is the one connected to. */
  lookupFor(url: URL): LookupFunction {
    const free = this.allows(url);
    return (hostname, options, callback) => {
      this.#resolve(hostname, { ...options, all: true }, (error, addresses) => {
        if (error) return callback(error, '', 0);
        const [first] = addresses;
        if (!first || (!free && addresses.some(({ address }) => isUnsafeAddress(address)))) {
          return callback(new UnsafeAddressError(`${hostname} resolves to an address that is not public`), '', 0);
        }
        if (options.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      });
    };
  }

  /** Literal addresses never reach a lookup: ask before connecting. */
  isUnsafeLiteral(url: URL): boolean {
    const host = bare(url.hostname);
    return ipaddr.isValid(host) && !this.allows(url) && isUnsafeAddress(host);
  }

  #addressesOf(host: string): Promise<string[]> {
    return new Promise((resolve) => {
      this.#resolve(host, { all: true }, (error, addresses) => resolve(error ? [] : addresses.map(({ address }) => address)));
    });
  }
}

/** The guard of an installation; what the operator lets through is written to the log. */
export function openAddressGuard(allowed: readonly string[], log: { info(detail: object, message: string): void }): AddressGuard {
  if (allowed.length > 0) log.info({ allowed }, 'ALLOW_PRIVATE_ADDRESSES lets these through although they are private');
  return new AddressGuard({ allowed });
}

/** A URL's host without the brackets of IPv6 and the dot of an absolute name. */
function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}
