import type { Dice } from './dice.ts';
import { mutated, pieces } from './mutate.ts';

/** Bytes of a client on the way in, `{P}` and `{S}` standing for the ports of the plain and the secure origin. */
export interface ClientCase {
  /** Straight to the proxy, or within a tunnel that it opens: by TLS, or in plain text. */
  readonly way: 'plain' | 'tls' | 'inner';
  readonly pieces: readonly string[];
  readonly end: 'stay' | 'fin' | 'reset';
}

const METHODS = ['GET', 'GET', 'GET', 'POST', 'POST', 'PUT', 'HEAD', 'OPTIONS', 'DELETE', 'PATCH'];
const ODD_METHODS = ['get', 'FOO', 'PRI', 'CONNECT', 'TRACE', 'M-SEARCH', 'G', 'QUERY', ''];

const FIELDS = [
  'Accept: */*',
  'X-Long: '.padEnd(300, 'y'),
  'X-Latin: \xe9\xff',
  'X-Empty:',
  'Cookie: a=b; c="d"',
  'Cookie: e=f',
  'Connection: keep-alive',
  'Connection: close',
  'Connection: X-Long, cookie',
  'Connection: host, content-length, transfer-encoding',
  'Proxy-Connection: keep-alive',
  'Keep-Alive: timeout=5',
  'TE: trailers',
  'Trailer: X-Sum',
  'Expect: 100-continue',
  'Expect: 200-ok',
  'Upgrade: h2c',
  'Connection: Upgrade, HTTP2-Settings',
  'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA',
  'Upgrade: websocket',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Forbear-Session: s1',
  'Forbear-Expect: it was',
  'Forbear-Retry: off',
  'Forbear-Patience: 1s',
  'Forbear-Max-Attempts: 1',
  'Forbear-Nonsense: 1',
  'forbear-session: a b',
  'Proxy-Authorization: Basic dXNlci1zZXNzaW9uLWE6eA==',
  'Proxy-Authorization: Basic ////',
  'Authorization: Basic dTpw',
  'Via: 1.1 other',
  'Max-Forwards: 0',
  'Range: bytes=0-1',
  'Content-Encoding: gzip',
  'Host: other.test',
];

/** Requests of a client: sent ahead of each other, mutated or not, and cut anywhere. */
export function makeClientCase(dice: Dice): ClientCase {
  const way = dice.pick(['plain', 'plain', 'tls', 'inner'] as const);
  const whole = Array.from({ length: dice.between(1, 4) }, () => request(dice, way)).join('');
  const bytes = dice.oneIn(2) ? mutated(whole, dice) : whole;
  const cut = dice.oneIn(6) ? bytes.slice(0, dice.between(0, bytes.length)) : bytes;
  const end = dice.pick(['stay', 'stay', 'stay', 'fin', 'reset'] as const);
  return { way, pieces: pieces(cut, dice), end };
}

/** One chunked upload, with the bytes of its chunks mutated. */
export function makeChunkedUpload(dice: Dice): ClientCase {
  const way = dice.pick(['plain', 'inner'] as const);
  const head = [`POST ${target(dice, way)} HTTP/1.1`, hostLine(way), 'Transfer-Encoding: chunked'];
  const body = mutated(chunked(dice), dice);
  const next = dice.oneIn(2) ? request(dice, way) : '';
  const end = dice.pick(['stay', 'stay', 'fin'] as const);
  return { way, pieces: pieces(`${head.join('\r\n')}\r\n\r\n${body}${next}`, dice), end };
}

/** A body in chunks, as it should be. */
export function chunked(dice: Dice): string {
  const extension = () => (dice.oneIn(4) ? dice.pick([';a=b', ';a="x;y"', ' ; a', ';a']) : '');
  const chunk = () => {
    const bytes = dice.oneIn(2) ? dice.word(dice.between(1, 30)) : dice.bytes(dice.between(1, 30));
    const digits = bytes.length.toString(16);
    const size = dice.oneIn(4) ? `00${digits.toUpperCase()}` : digits;
    return `${size}${extension()}\r\n${bytes}\r\n`;
  };
  const trailers = dice.oneIn(3) ? 'X-Sum: 1\r\nX-Other:\r\n' : '';
  return `${dice.some(4, chunk).join('')}0${extension()}\r\n${trailers}\r\n`;
}

function request(dice: Dice, way: ClientCase['way']): string {
  const method = dice.oneIn(25) ? dice.pick(ODD_METHODS) : dice.pick(METHODS);
  const version = dice.oneIn(10) ? dice.pick(['1.0', '1.0', '1.2', '2.0']) : '1.1';
  const fields = [hostLine(way), ...dice.some(4, () => dice.pick(FIELDS))];
  const isSent = dice.oneIn(method === 'GET' || method === 'HEAD' ? 8 : 2);
  let body = '';
  if (isSent && dice.oneIn(2)) {
    fields.push('Transfer-Encoding: chunked');
    body = chunked(dice);
  } else if (isSent) {
    body = dice.oneIn(2) ? dice.word(dice.size(3000)) : dice.bytes(dice.size(3000));
    fields.push(`Content-Length: ${body.length}`);
  }
  const start = `${method} ${target(dice, way)} HTTP/${version}`;
  return `${[start, ...fields].join('\r\n')}\r\n\r\n${body}`;
}

function target(dice: Dice, way: ClientCase['way']): string {
  const path = `/p${dice.word(6)}${dice.oneIn(4) ? dice.pick(['?q=1', '?', '/..//x', '#f', '%00', '\xe9']) : ''}`;
  if (dice.oneIn(30))
    return dice.pick(['*', '/', '', 'o.test:{P}', 'http://', `ftp://o.test${path}`]);
  if (way !== 'plain') return dice.oneIn(12) ? `http://o.test:{P}${path}` : path;
  const user = dice.oneIn(12) ? 'user:pa%20ss@' : '';
  return dice.oneIn(8) ? `https://${user}o.test:{S}${path}` : `http://${user}o.test:{P}${path}`;
}

const hostLine = (way: ClientCase['way']): string =>
  way === 'tls' ? 'Host: o.test:{S}' : 'Host: o.test:{P}';
