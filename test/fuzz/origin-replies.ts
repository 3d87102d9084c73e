import { chunked } from './client-requests.ts';
import type { Dice } from './dice.ts';
import { mutated, pieces } from './mutate.ts';

/** Bytes that a site answers with, and what its connection does then. */
export interface ReplyCase {
  readonly way: 'plain' | 'tls';
  readonly method: 'GET' | 'HEAD' | 'POST' | 'OPTIONS';
  /** What the client speaks. */
  readonly version: '1.1' | '1.0';
  readonly pieces: readonly string[];
  readonly end: 'stay' | 'fin' | 'reset';
}

const STATUSES = [
  ...[
    '200 OK',
    '200 OK',
    '200 OK',
    '200',
    '200 ',
    '206 Partial',
    '204 No Content',
    '304 Not Modified',
  ],
  ...['301 Moved', '404 Not Found', '403 Forbidden', '500 Oh', '503 Busy', '429 Slow', '407 Login'],
  ...['205 Reset', '299 Odd \xe9', '600 What', '999 No', '401 Who'],
];
const INTERIMS = ['100 Continue', '102 Processing', '103 Early Hints', '199 Odd', '101 Switching'];
const FIELDS = [
  'X-A: 1',
  'X-A: 2',
  'x-a: \xe9',
  'X-Empty:',
  'X-Long: '.padEnd(400, 'z'),
  'Content-Type: text/html; charset=utf-8',
  'Content-Type: application/octet-stream',
  'Set-Cookie: a=b',
  'Set-Cookie: c=d',
  'Connection: close',
  'Connection: keep-alive',
  'Connection: X-A',
  'Keep-Alive: timeout=1',
  'Upgrade: h2c',
  'Trailer: X-Sum',
  'Forbear-Attempts: 9',
  'Proxy-Status: other; error=dns_error',
  'Retry-After: 1',
  'Location: /x',
  'Link: </a.css>; rel=preload',
  'Content-Encoding: identity',
];

/** Replies of a site: interim ones, a final one, bytes behind it; mutated or not, cut short or not. */
export function makeReplyCase(dice: Dice): ReplyCase {
  const whole = reply(dice);
  const more = dice.oneIn(10) ? dice.pick(['\r\n', 'junk', reply(dice), '\0']) : '';
  const bytes = dice.oneIn(2) ? mutated(whole, dice) : whole;
  const cut = dice.oneIn(5) ? bytes.slice(0, dice.between(0, bytes.length)) : bytes + more;
  return { ...asked(dice), pieces: pieces(cut, dice), end: ending(dice) };
}

/** A reply in chunks, with nothing but these mutated. */
export function makeChunkedReply(dice: Dice): ReplyCase {
  const head = [
    'HTTP/1.1 200 OK',
    'Transfer-Encoding: chunked',
    ...dice.some(2, () => field(dice)),
  ];
  const body = mutated(chunked(dice), dice);
  const bytes = `${head.join('\r\n')}\r\n\r\n${body}`;
  return { ...asked(dice), method: 'GET', pieces: pieces(bytes, dice), end: ending(dice) };
}

function asked(dice: Dice): Pick<ReplyCase, 'way' | 'method' | 'version'> {
  return {
    way: dice.oneIn(5) ? 'tls' : 'plain',
    method: dice.pick(['GET', 'GET', 'GET', 'HEAD', 'POST', 'OPTIONS'] as const),
    version: dice.oneIn(6) ? '1.0' : '1.1',
  };
}

const ending = (dice: Dice): ReplyCase['end'] => dice.pick(['stay', 'fin', 'fin', 'fin', 'reset']);

function reply(dice: Dice): string {
  const interims = dice.oneIn(5) ? dice.some(3, () => interim(dice)).join('') : '';
  const fields = dice.some(5, () => field(dice));
  const body = dice.oneIn(2) ? dice.word(dice.size(20_000)) : dice.bytes(dice.size(20_000));
  const version = dice.oneIn(10) ? dice.pick(['1.0', '1.0', '2', '0.9']) : '1.1';
  const status = `HTTP/${version} ${dice.pick(STATUSES)}`;
  const head = (...framing: readonly string[]) => {
    const lines = [status, ...fields, ...framing];
    return `${interims}${lines.join('\r\n')}\r\n\r\n`;
  };
  switch (dice.below(4)) {
    case 0:
      return head('Transfer-Encoding: chunked') + chunked(dice);
    case 1:
      return head() + body;
    default:
      return head(`Content-Length: ${body.length}`) + body;
  }
}

function interim(dice: Dice): string {
  const fields = dice.some(2, () => field(dice));
  return `${[`HTTP/1.1 ${dice.pick(INTERIMS)}`, ...fields].join('\r\n')}\r\n\r\n`;
}

const field = (dice: Dice): string => dice.pick(FIELDS);
