/** One thing a client might send, and what may become of it. */
export interface SmugglingCase {
  readonly name: string;
  /** With `{T}` for the request target and `{H}` for the authority. Latin-1. */
  readonly bytes: string;
  /** `refused`: 4xx, one reply, the end, and the origin sees nothing. `carried`: one request, framed anew. */
  readonly then: 'refused' | 'carried';
}

/** What an attacker wants to be taken for a request of its own. */
export const HIDDEN = 'GET /smuggled HTTP/1.1\r\nHost: o.test\r\n\r\n';

const POST = 'POST {T} HTTP/1.1\r\nHost: {H}\r\n';
const CHUNKED = `${POST}Transfer-Encoding: chunked\r\n\r\n`;
const visible = (text: string) => JSON.stringify(text).slice(1, -1).slice(0, 60);

/** All cases, made from the tables. */
export function smugglingCases(): SmugglingCase[] {
  return [
    ...codings(),
    ...lengths(),
    ...chunkSizes(),
    ...chunkEnds(),
    ...trailers(),
    ...fieldLines(),
    ...hosts(),
    ...requestLines(),
    ...targets(),
    ...nominations(),
    ...sequences(),
  ];
}

function codings(): SmugglingCase[] {
  const refused = [
    'Transfer-Encoding: xchunked',
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding: chunked, gzip',
    'Transfer-Encoding: chunked, identity',
    'Transfer-Encoding: identity, chunked',
    'Transfer-Encoding: identity',
    'Transfer-Encoding: chunked, chunked',
    'Transfer-Encoding: chunked;q=1',
    'Transfer-Encoding: "chunked"',
    'Transfer-Encoding: chunked,',
    'Transfer-Encoding: ,chunked',
    'Transfer-Encoding: \x0bchunked',
    'Transfer-Encoding: chunked\x0b',
    'Transfer-Encoding: \x0cchunked',
    'Transfer-Encoding: \xa0chunked',
    'Transfer-Encoding: chun\0ked',
    'Transfer-Encoding: chunked\0',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
    'Transfer-Encoding: identity\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding:',
    'Transfer-Encoding:\r\n chunked',
    'Transfer-Encoding: chunked\r\n ',
    'Transfer-Encoding : chunked',
    'Transfer-Encoding\t: chunked',
    'Transfer-Encoding\0: chunked',
    '\0Transfer-Encoding: chunked',
    ' Transfer-Encoding: chunked',
    'Transfer-Encoding chunked',
    'Transfer-Encoding; chunked',
    'X: y\nTransfer-Encoding: chunked',
    'X: y\rTransfer-Encoding: chunked',
    'X: y\r\n\tTransfer-Encoding: chunked',
    'Transfer-Encoding: chunked\nX: y',
  ];
  const body = `0\r\n\r\n${HIDDEN}`;
  return refused.flatMap((line) =>
    [
      ['', 'alone'],
      ['Content-Length: 5\r\n', 'behind a length'],
      [`Content-Length: ${body.length}\r\n`, 'behind a length over all'],
    ].map(([length, where]) => ({
      name: `coding ${visible(line)}, ${where}`,
      bytes: `${POST}${length}${line}\r\n\r\n${body}`,
      then: 'refused' as const,
    })),
  );
}

function lengths(): SmugglingCase[] {
  const refused = [
    ...['+6', '-6', '6,6', '6, 6', '6, 7', '0x6', '6.0', '6e0', '6;', '"6"', '6 6', '6\x0b', '\x0c6'],
    ...['six', '6_0', '6\0', '\xb2', '18446744073709551622', '9'.repeat(30), '6\r\n 0', '\r\n 6'],
    ...['6\r\nContent-Length: 7', '6\r\nContent-Length: 6', '6\r\ncontent-length: 0', '6\nX: y', ''],
  ];
  const named = ['Content-Length : 6', 'Content-Length\t: 6', 'Content-Length\0: 6', ' Content-Length: 6'];
  const both = ['Transfer-Encoding: chunked\r\nContent-Length: 6', 'Content-Length: 6\r\nTransfer-Encoding: chunked'];
  return [...refused.map((value) => `Content-Length: ${value}`), ...named, ...both].map((line) => ({
    name: `length ${visible(line)}`,
    bytes: `${POST}${line}\r\n\r\nhello!${HIDDEN}`,
    then: 'refused' as const,
  }));
}

function chunkSizes(): SmugglingCase[] {
  const refused = [
    ...['0x5', '+5', '-5', ' 5', '5 ', '5\t', '5\n', '5\r', '5g', 'g', '', '5\0', '5,5', '5 5', '5.0'],
    ...['fffffffffffffffff', '10000000000000005', '5;a=\n', '5;\0', '5;a\r', '5 ;a=b', '5;a="b\n"', '\xb5'],
  ];
  const carried = ['5', '05', '0000000005', '5;a', '5;a=b', '5;a="b"'];
  const made = (then: SmugglingCase['then']) => (size: string) => ({
    name: `chunk size ${visible(size)}`,
    bytes: `${CHUNKED}${size}\r\nhello\r\n0\r\n\r\n${then === 'refused' ? HIDDEN : ''}`,
    then,
  });
  return [...refused.map(made('refused')), ...carried.map(made('carried'))];
}

function chunkEnds(): SmugglingCase[] {
  const refused = [
    ...['5\r\nhello\n0\r\n\r\n', '5\r\nhello\r0\r\n\r\n', '5\r\nhello0\r\n\r\n', '5\r\nhellox\r\n0\r\n\r\n'],
    ...['5\r\nhello\n\r0\r\n\r\n', '5\r\nhello\r\n\r\n0\r\n\r\n', '0\n\n', '0\r\n\n', '0\r\r', '-0\r\n\r\n'],
    ...['0x0\r\n\r\n', '0 \r\n\r\n', '5\r\nhel\r\n0\r\n\r\n', '\r\n0\r\n\r\n', '5\nhello\n0\n\n'],
  ];
  return [
    ...refused.map((body) => ({
      name: `chunks ${visible(body)}`,
      bytes: `${CHUNKED}${body}${HIDDEN}`,
      then: 'refused' as const,
    })),
    ...['0\r\n\r\n', '00\r\n\r\n', '0;last\r\n\r\n', `${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`].map(
      (body) => ({
        name: `chunks ${visible(body)}`,
        bytes: `${CHUNKED}${body}`,
        then: 'carried' as const,
      }),
    ),
  ];
}

function trailers(): SmugglingCase[] {
  const refused = ['Content-Length: 50', 'Transfer-Encoding: chunked', 'X : y', 'X', ' X: y', 'X: y\nZ: z', 'X: y\0', 'X\0: y', 'X: y\r\n folded', ': y'];
  const carried = [
    ...['X: y', 'Host: b.test', 'X-1: a\r\nX-2: b'],
  ];
  const made = (then: SmugglingCase['then']) => (lines: string) => ({
    name: `trailer ${visible(lines)}`,
    bytes: `${CHUNKED}5\r\nhello\r\n0\r\n${lines}\r\n\r\n${then === 'refused' ? HIDDEN : ''}`,
    then,
  });
  return [...refused.map(made('refused')), ...carried.map(made('carried'))];
}

function fieldLines(): SmugglingCase[] {
  const refused = [
    ...['X: a\0b', 'X\0Y: 1', 'X Y: 1', 'X : 1', 'X\t: 1', ': 1', 'X', 'X: a\rb', 'X: a\x7fb', 'X: a\x01b'],
    ...['X: a\x0bb', 'X: a\x0cb', 'X\x7f: 1', 'X(: 1', 'X{: 1', 'X@: 1', 'X[: 1', 'X\xe9: 1', '"X": 1'],
    ...[' X: 1', '\tX: 1', 'X: 1\r\n Y: 2', 'X: 1\n', 'X: 1\nY: 2', 'X: 1\n\n', '\r', 'X/Y: 1', 'X=Y: 1'],
  ];
  return [
    ...refused.map((line) => ({
      name: `field ${visible(line)}`,
      bytes: `GET {T} HTTP/1.1\r\nHost: {H}\r\n${line}\r\n\r\n${HIDDEN}`,
      then: 'refused' as const,
    })),
    ...['X:1', 'X:\t1\t', 'X:', 'X: \xe9', '!#$%&*+-.^_`|~: 1', 'Content_Length: 50', 'Transfer_Encoding: chunked'].map(
      (line) => ({
        name: `field ${visible(line)}`,
        bytes: `GET {T} HTTP/1.1\r\nHost: {H}\r\n${line}\r\n\r\n`,
        then: 'carried' as const,
      }),
    ),
  ];
}

function hosts(): SmugglingCase[] {
  const refused = [
    ...['Host: {H}\r\nHost: {H}', 'Host: {H}\r\nHost: b.test', 'Host: {H}\r\nhost: b.test', 'Host : {H}'],
    ...['Host: {H}\r\n b.test', 'Host: {H}\nHost: b.test', 'Host: {H}\0', 'X: y', ' Host: {H}', 'Host: {H}\x01'],
  ];
  return refused.map((line) => ({
    name: `host ${visible(line)}`,
    bytes: `GET {T} HTTP/1.1\r\n${line}\r\n\r\n${HIDDEN}`,
    then: 'refused' as const,
  }));
}

function requestLines(): SmugglingCase[] {
  const refused = [
    ...['GET\t{T} HTTP/1.1', 'GET {T}\tHTTP/1.1', 'GET {T} HTTP/1.1 '],
    ...['GET {T} http/1.1', 'GET {T} HTTP/1.2', 'GET {T} HTTP/2.0', 'GET {T} HTTP/0.9', 'GET {T} HTTP/1.1x'],
    ...['GET {T}', 'GET {T} HTTP/1.1 GET', 'GET {T} HTTP/11', 'GET {T} HTTP/1', 'GET {T} HTTP/1.', ' GET {T} HTTP/1.1'],
    ...['get {T} HTTP/1.1', 'G\0ET {T} HTTP/1.1', 'GET{T} HTTP/1.1', 'FOO {T} HTTP/1.1', 'PRI * HTTP/2.0'],
    ...['GET {T}\0 HTTP/1.1', 'GET {T}\r HTTP/1.1', 'GET {T}\x0bHTTP/1.1', 'GET {T} x HTTP/1.1', 'GET {T}\xe9 HTTP/1.1'],
    ...['GET {T} HTTP/1.1\n', 'GET {T}\n', 'GET {T} ICE/1.1', '\0GET {T} HTTP/1.1', 'GET {T}\x7f HTTP/1.1'],
  ];
  return [
    ...refused.map((line) => ({
      name: `request line ${visible(line)}`,
      bytes: `${line}\r\nHost: {H}\r\n\r\n${HIDDEN}`,
      then: 'refused' as const,
    })),
    ...['\r\nGET {T} HTTP/1.1', 'GET  {T} HTTP/1.1', 'GET {T}  HTTP/1.1', 'GET {T} RTSP/1.0', 'HEAD {T} HTTP/1.1', 'GET {T}?a=%0d%0aX:%201 HTTP/1.1', 'GET {T}%00 HTTP/1.1'].map((line) => ({
      name: `request line ${visible(line)}`,
      bytes: `${line}\r\nHost: {H}\r\n\r\n`,
      then: 'carried' as const,
    })),
  ];
}

function targets(): SmugglingCase[] {
  return [
    ...['http://o.test\\@b.test/', 'http://o.test:80:90/', 'http://o.test:8 0/', 'http:/o.test/', 'http://', 'http:///c'],
    ...['http://o.test%00.b.test/', 'http://o.test%0d%0aX:1/', 'http://[::1/', 'http://o.test:-1/', 'ftp://o.test/'],
    ...['http://o.test:99999/', 'http://o..test/', 'http://.test/', 'javascript:1', 'o.test:443', '*x', '?c'],
    ...['http://o.test:0x50/', 'http://o.test:８０/', 'http://o.test;b.test/', 'http://o.test,b.test/', 'http://o.test|b/'],
  ].map((target) => ({
    name: `target ${visible(target)}`,
    bytes: `GET ${target} HTTP/1.1\r\nHost: {H}\r\n\r\n${HIDDEN}`,
    then: 'refused' as const,
  }));
}

/** Fields that would change what the message is if their being named in Connection were obeyed. */
function nominations(): SmugglingCase[] {
  const names = ['content-length', 'Content-Length, host', 'host', 'close, content-length', 'keep-alive, Content-Length'];
  const body = HIDDEN;
  return [
    ...names.map((name) => ({
      name: `Connection: ${name} on a request with a length`,
      bytes: `${POST}Connection: ${name}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      then: 'carried' as const,
    })),
    ...['transfer-encoding', 'Transfer-Encoding, host', 'close, transfer-encoding'].map((name) => ({
      name: `Connection: ${name} on a request in chunks`,
      bytes: `${POST}Connection: ${name}\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      then: 'carried' as const,
    })),
    ...['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE', 'PUT'].map((method) => ({
      name: `${method} with a body that is a request`,
      bytes: `${method} {T} HTTP/1.1\r\nHost: {H}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      then: 'carried' as const,
    })),
    ...['h2c', 'foo', 'TLS/1.0'].map((protocol) => ({
      name: `an upgrade to ${protocol} with a body that is a request`,
      bytes: `${POST}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: ${protocol}\r\nHTTP2-Settings: AAMAAABk\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      then: 'carried' as const,
    })),
  ];
}

function sequences(): SmugglingCase[] {
  const good = 'GET {T} HTTP/1.1\r\nHost: {H}\r\n\r\n';
  const bad = [
    'GET {T} HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
    'GET {T} HTTP/1.1\r\nHost: a\r\nX: y\0\r\n\r\n',
    `${POST}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    'POST {T} HTTP/1.0\r\nHost: {H}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    `${POST}Expect: banana\r\nContent-Length: ${HIDDEN.length}\r\n\r\n`,
    'nonsense\r\n\r\n',
  ];
  return bad.map((bytes) => ({
    name: `${visible(bytes)} and a good request behind it`,
    bytes: `${bytes}${HIDDEN}${good}`,
    then: 'refused' as const,
  }));
}
