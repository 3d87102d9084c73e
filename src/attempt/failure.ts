import type { FailureCode, FailureReply, Phase, UpstreamReply } from '../core/verdict.ts';

/** An attempt's end without a reply, as the steps of an attempt hand it up. */
export interface Broken {
  readonly kind: 'broken';
  readonly phase: Phase;
  readonly code: FailureCode;
  readonly leg: FailureReply['leg'];
  readonly detail: string;
  /** The other side said that it did not act upon the request. */
  readonly unprocessed?: true;
  readonly upstreamReply?: UpstreamReply;
}

/** An error of our own that carries a code, like those of Node and undici do. */
export class CodedError extends Error {
  readonly code: OwnCode;

  constructor(code: OwnCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** What our own code can find wrong on a wire. */
export type OwnCode =
  | 'FORBEAR_TIMEOUT'
  | 'FORBEAR_ABORTED'
  | 'FORBEAR_CLOSED'
  | 'FORBEAR_CODING_CUT'
  | 'FORBEAR_SOCKET_GONE'
  | 'FORBEAR_BAD_HEAD'
  | 'FORBEAR_BAD_REPLY'
  | 'FORBEAR_LONG_HEAD'
  | 'FORBEAR_BAD_SOCKS'
  | 'FORBEAR_STREAM_RESET'
  | 'FORBEAR_STREAM_REFUSED'
  | 'FORBEAR_GOAWAY'
  | 'FORBEAR_HTTP11_REQUIRED'
  | 'FORBEAR_CALM'
  | 'FORBEAR_CALM_REFUSED'
  | 'FORBEAR_INVALID'
  | 'FORBEAR_PROHIBITED'
  | 'FORBEAR_LOOP'
  | 'FORBEAR_NO_ADDRESS';

const CODES: ReadonlyMap<string, FailureCode> = new Map([
  ...entries('timeout', 'FORBEAR_TIMEOUT ETIMEDOUT UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT'),
  ...entries(
    'aborted',
    'FORBEAR_ABORTED ABORT_ERR UND_ERR_ABORTED UND_ERR_DESTROYED UND_ERR_CLOSED',
  ),
  ...entries(
    'closed',
    'FORBEAR_CLOSED FORBEAR_CODING_CUT FORBEAR_SOCKET_GONE UND_ERR_SOCKET ERR_STREAM_PREMATURE_CLOSE',
  ),
  ...entries(
    'connection_reset',
    'FORBEAR_STREAM_RESET ECONNRESET EPIPE ECONNABORTED ERR_STREAM_DESTROYED',
  ),
  ...entries('stream_refused', 'FORBEAR_STREAM_REFUSED FORBEAR_GOAWAY FORBEAR_HTTP11_REQUIRED'),
  ...entries('calm', 'FORBEAR_CALM FORBEAR_CALM_REFUSED'),
  ...entries('no_common_protocol', 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL'),
  ...entries('connection_refused', 'ECONNREFUSED'),
  ...entries('unreachable', 'ENETUNREACH EHOSTUNREACH EHOSTDOWN ENETDOWN ENONET EACCES EPERM'),
  ...entries('unresolvable', 'ENOTFOUND FORBEAR_NO_ADDRESS ENODATA EAI_NODATA EAI_NONAME ENONAME'),
  ...entries(
    'resolver_failed',
    'EAI_AGAIN EAI_FAIL EAI_MEMORY EAI_SYSTEM ESERVFAIL EREFUSED ETIMEOUT',
  ),
  ...entries('local_resources', 'EMFILE ENFILE EADDRNOTAVAIL EADDRINUSE ENOBUFS ENOMEM EAGAIN'),
  ...entries(
    'certificate',
    'ERR_TLS_CERT_ALTNAME_INVALID ERR_TLS_CERT_ALTNAME_FORMAT UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_CRL ' +
      'UNABLE_TO_DECRYPT_CERT_SIGNATURE UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY CERT_SIGNATURE_FAILURE ' +
      'CERT_NOT_YET_VALID CERT_HAS_EXPIRED ERROR_IN_CERT_NOT_BEFORE_FIELD ERROR_IN_CERT_NOT_AFTER_FIELD ' +
      'DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_GET_ISSUER_CERT_LOCALLY ' +
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE CERT_CHAIN_TOO_LONG CERT_REVOKED INVALID_CA PATH_LENGTH_EXCEEDED ' +
      'INVALID_PURPOSE CERT_UNTRUSTED CERT_REJECTED HOSTNAME_MISMATCH ' +
      // Node gives these two as OpenSSL says them when no name is known for the error.
      'UNSPECIFIED EE_KEY_TOO_SMALL CA_KEY_TOO_SMALL CA_MD_TOO_WEAK',
  ),
  ...entries('tls', 'EPROTO'),
  ...entries('header_overflow', 'FORBEAR_LONG_HEAD UND_ERR_HEADERS_OVERFLOW HPE_HEADER_OVERFLOW'),
  // Before a head is through this can only mean Content-Length beside Transfer-Encoding: undici gives its
  // parser's refusal the same code as a body that is too short.
  ...entries(
    'http_protocol',
    'FORBEAR_BAD_REPLY UND_ERR_RES_CONTENT_LENGTH_MISMATCH UND_ERR_RES_EXCEEDED_MAX_SIZE',
  ),
  ...entries('upstream_protocol', 'FORBEAR_BAD_HEAD FORBEAR_BAD_SOCKS'),
  ...entries(
    'invalid_request',
    'FORBEAR_INVALID UND_ERR_INVALID_ARG UND_ERR_NOT_SUPPORTED UND_ERR_REQ_CONTENT_LENGTH_MISMATCH ' +
      'ERR_INVALID_ARG_TYPE ERR_INVALID_ARG_VALUE ERR_INVALID_CHAR ERR_SOCKET_BAD_PORT ERR_INVALID_HTTP_TOKEN ' +
      'ERR_HTTP2_INVALID_CONNECTION_HEADERS ERR_HTTP2_INVALID_PSEUDOHEADER',
  ),
  ...entries('prohibited', 'FORBEAR_PROHIBITED'),
  ...entries('loop', 'FORBEAR_LOOP'),
]);

const FAMILIES: readonly (readonly [string, FailureCode])[] = [
  ['HPE_', 'http_protocol'],
  ['ERR_SSL_', 'tls'],
  ['ERR_TLS_', 'tls'],
  ['ERR_OSSL_', 'tls'],
];

/** Our word for an error, by its code and the phase it came in; never by its text. */
export function failureCode(error: unknown, phase: Phase): FailureCode {
  const code = codeOf(error);
  if (code === undefined) return 'internal';
  const known = CODES.get(code) ?? FAMILIES.find(([start]) => code.startsWith(start))?.[1];
  // c-ares and getaddrinfo reuse errno names for their talk with the name server.
  if (phase === 'resolve') return resolverCode(known);
  return known ?? 'internal';
}

/** Makes an error into the end of an attempt; whatever never left this machine is nobody's fault. */
export function broken(error: unknown, phase: Phase, leg: FailureReply['leg']): Broken {
  const code = failureCode(error, phase);
  const local = LOCAL_CODES.has(code);
  const end = { kind: 'broken', phase, code, leg: local ? 'local' : leg } as const;
  const unprocessed = UNPROCESSED.has(codeOf(error) ?? '') ? ({ unprocessed: true } as const) : {};
  return { ...end, ...unprocessed, detail: detailOf(error) };
}

/** Whatever was sent may be sent again (RFC 9113 section 8.7). */
const UNPROCESSED: ReadonlySet<string> = new Set<OwnCode>([
  'FORBEAR_STREAM_REFUSED',
  'FORBEAR_GOAWAY',
  'FORBEAR_HTTP11_REQUIRED',
  'FORBEAR_CALM_REFUSED',
]);

/** Whether the parser found bytes that are no HTTP; that they end too early is another matter. */
export function isMalformed(error: unknown): boolean {
  return (
    error instanceof Error &&
    error.name === 'HTTPParserError' &&
    codeOf(error) !== 'HPE_INVALID_EOF_STATE'
  );
}

/** The error's own words, with its code in front, for logs only. */
export function detailOf(error: unknown): string {
  const code = codeOf(error);
  if (!(error instanceof Error)) return String(error);
  const text = error.message || deepest(error);
  return code === undefined || text.includes(code) ? text : `${code}: ${text}`;
}

const LOCAL_CODES: ReadonlySet<FailureCode> = new Set([
  'aborted',
  'internal',
  'invalid_request',
  'local_resources',
  'loop',
  'prohibited',
]);

const RESOLVER_CODES: ReadonlySet<FailureCode> = new Set([
  ...LOCAL_CODES,
  'unresolvable',
  'timeout',
]);

function resolverCode(known: FailureCode | undefined): FailureCode {
  return known !== undefined && RESOLVER_CODES.has(known) ? known : 'resolver_failed';
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  if ('code' in error && typeof error.code === 'string') return error.code;
  // undici leaves the code out where its table of parser errors is older than the parser.
  if (error instanceof Error && error.name === 'HTTPParserError') return 'HPE_UNKNOWN';
  // Several addresses were tried in turn: the first one's error stands for all.
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  return error instanceof Error ? codeOf(error.cause) : undefined;
}

function deepest(error: Error): string {
  return error instanceof AggregateError ? error.errors.map(detailOf).join('; ') : error.name;
}

function entries(code: FailureCode, names: string): [string, FailureCode][] {
  return names.split(' ').map((name) => [name, code]);
}
