import { fieldValue, fieldValues, type RawHeaders, splitOutsideQuotes } from './fields.ts';

/** What an upstream says went wrong on its own side. */
export type VendorFault =
  | 'auth'
  | 'quota'
  | 'rate'
  /** It does not serve this target, or not this way. */
  | 'policy'
  /** The site bans its addresses. */
  | 'ban'
  /** The way from this exit to the site failed. */
  | 'path'
  /** The exit itself is gone. */
  | 'exit';

export interface VendorError {
  readonly fault: VendorFault | undefined;
  readonly name: string;
  readonly value: string;
}

interface VendorField {
  readonly name: string;
  /** Whether only the vendor uses this name: then it counts inside a tunnel too, where most fields are the site's. */
  readonly own: boolean;
}

/** Fields in which vendors report their own errors, whatever the status is. Codes come before their prose. */
const FIELDS: readonly VendorField[] = [
  { name: 'x-brd-err-code', own: true },
  { name: 'x-brd-error-code', own: true },
  { name: 'x-brd-error', own: true },
  { name: 'x-brd-err-msg', own: true },
  { name: 'x-luminati-error-code', own: true },
  { name: 'x-luminati-error', own: true },
  { name: 'x-soax-error', own: true },
  { name: 'zyte-error-type', own: true },
  { name: 'x-crawlera-error', own: true },
  { name: 'x-scrapfly-reject-code', own: true },
  { name: 'x-error-description', own: false },
  { name: 'x-squid-error', own: false },
];

/** Words in vendors' codes and sentences. The first row with a hit decides, so the narrower come first. */
const WORDS: readonly { readonly fault: VendorFault; readonly words: readonly string[] }[] = [
  { fault: 'ban', words: ['website-ban', 'banned', 'shield_protection_failed'] },
  {
    fault: 'quota',
    words: [
      'quota',
      'traffic limit',
      'traffic_limit',
      'out of traffic',
      'bandwidth limit',
      'insufficient',
      'low balance',
      'account balance',
      'payment required',
      'suspended',
      'subscription',
      'no credit',
      'usage limit',
      'usage_limit',
    ],
  },
  {
    fault: 'rate',
    words: [
      'too many',
      'too_many',
      'rate limit',
      'rate_limit',
      'rate-limit',
      '/limits/',
      'limit-reached',
      'throttl',
      'concurren',
      'max_request',
      'serverbusy',
      'session_limit',
    ],
  },
  {
    fault: 'exit',
    words: [
      'no_peer',
      'no peer',
      'no exit',
      'exit node not found',
      'noslaves',
      'session failed',
      'bad_session',
      'session not found',
      'cooling',
      'not allocated',
    ],
  },
  {
    fault: 'policy',
    words: [
      'policy',
      'forbidden',
      'restricted',
      'robots',
      'not allowed',
      'prohibited',
      'err_access_denied',
    ],
  },
  {
    fault: 'auth',
    words: [
      'authent',
      'unauthor',
      'auth_',
      '_auth',
      '/auth/',
      'credential',
      'wrong_password',
      'wrong_customer',
      'zone_not_found',
      'invalid key',
    ],
  },
];

/** RFC 9209 section 2.3: what each registered error says about the proxy's own side. */
const TOKENS: Readonly<Record<string, VendorFault>> = {
  dns_timeout: 'path',
  dns_error: 'path',
  destination_not_found: 'path',
  destination_unavailable: 'path',
  destination_ip_prohibited: 'policy',
  destination_ip_unroutable: 'path',
  connection_refused: 'path',
  connection_terminated: 'path',
  connection_timeout: 'path',
  connection_read_timeout: 'path',
  connection_write_timeout: 'path',
  connection_limit_reached: 'rate',
  tls_protocol_error: 'path',
  tls_certificate_error: 'path',
  tls_alert_received: 'path',
  http_request_error: 'policy',
  http_request_denied: 'policy',
  http_response_incomplete: 'path',
  http_response_timeout: 'path',
  http_protocol_error: 'path',
  proxy_internal_response: 'path',
  proxy_internal_error: 'exit',
  proxy_configuration_error: 'exit',
  proxy_loop_detected: 'policy',
};

/** Members of `Proxy-Status` that are a known vendor's, and so count inside a tunnel too. */
const VENDOR_MEMBERS = ['brd.', 'brightdata', 'bright data', 'luminati'];

/**
 * The upstream's own error, if the reply shows one. `outside`: the reply was read where the upstream speaks
 * (CONNECT, forwarded plain HTTP); inside a tunnel only names that no site uses count.
 */
export function vendorError(
  rawHeaders: RawHeaders,
  where: 'outside' | 'tunnel',
): VendorError | undefined {
  const found: { name: string; value: string }[] = [];
  for (const { name, own } of FIELDS) {
    const value = own || where === 'outside' ? fieldValue(rawHeaders, name) : undefined;
    if (value) found.push({ name, value });
  }
  const [first] = found;
  if (first === undefined) return proxyStatusError(rawHeaders, where);
  return { ...first, fault: faultInWords(found.map(({ value }) => value).join(' ')) };
}

/** The fault that a vendor's words name, or undefined. */
export function faultInWords(text: string): VendorFault | undefined {
  const lower = text.toLowerCase();
  return WORDS.find(({ words }) => words.some((word) => lower.includes(word)))?.fault;
}

/** The last member is the nearest proxy's (RFC 9209 section 2); those before it stand on the site's side. */
function proxyStatusError(
  rawHeaders: RawHeaders,
  where: 'outside' | 'tunnel',
): VendorError | undefined {
  const member = piecesOf(fieldValues(rawHeaders, 'proxy-status').join(','), ',').at(-1);
  if (member === undefined) return undefined;
  const [proxy = '', ...parameters] = piecesOf(member, ';');
  if (where === 'tunnel' && !isVendorMember(proxy)) return undefined;
  const error = parameters.find((text) => text.startsWith('error='))?.slice('error='.length);
  if (error === undefined || error === '') return undefined;
  const details = parameters.find((text) => text.startsWith('details=')) ?? '';
  return {
    fault: faultInWords(details) ?? TOKENS[error.toLowerCase()],
    name: 'proxy-status',
    value: member,
  };
}

function isVendorMember(proxy: string): boolean {
  const lower = proxy.toLowerCase();
  return VENDOR_MEMBERS.some((name) => lower.includes(name));
}

const piecesOf = (text: string, separator: ',' | ';'): string[] =>
  splitOutsideQuotes(text, separator).filter((piece) => piece !== '');
