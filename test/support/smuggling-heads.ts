import { HIDDEN, POST, type SmugglingCase, visible } from './smuggling-case.ts';

/** Fields, hosts, request lines, targets, nominations and what is sent behind. */
export function headCases(): SmugglingCase[] {
  return [
    ...fieldLines(),
    ...hosts(),
    ...requestLines(),
    ...targets(),
    ...nominations(),
    ...sequences(),
  ];
}

function fieldLines(): SmugglingCase[] {
  const refused = [
    ...[
      'X: a\0b',
      'X\0Y: 1',
      'X Y: 1',
      'X : 1',
      'X\t: 1',
      ': 1',
      'X',
      'X: a\rb',
      'X: a\x7fb',
      'X: a\x01b',
    ],
    ...[
      'X: a\x0bb',
      'X: a\x0cb',
      'X\x7f: 1',
      'X(: 1',
      'X{: 1',
      'X@: 1',
      'X[: 1',
      'X\xe9: 1',
      '"X": 1',
    ],
    ...[
      ' X: 1',
      '\tX: 1',
      'X: 1\r\n Y: 2',
      'X: 1\n',
      'X: 1\nY: 2',
      'X: 1\n\n',
      '\r',
      'X/Y: 1',
      'X=Y: 1',
    ],
  ];
  return [
    ...refused.map((line) => ({
      name: `field ${visible(line)}`,
      bytes: `GET {T} HTTP/1.1\r\nHost: {H}\r\n${line}\r\n\r\n${HIDDEN}`,
      outcome: 'refused' as const,
    })),
    ...[
      'X:1',
      'X:\t1\t',
      'X:',
      'X: \xe9',
      '!#$%&*+-.^_`|~: 1',
      'Content_Length: 50',
      'Transfer_Encoding: chunked',
    ].map((line) => ({
      name: `field ${visible(line)}`,
      bytes: `GET {T} HTTP/1.1\r\nHost: {H}\r\n${line}\r\n\r\n`,
      outcome: 'carried' as const,
    })),
  ];
}

function hosts(): SmugglingCase[] {
  const refused = [
    ...[
      'Host: {H}\r\nHost: {H}',
      'Host: {H}\r\nHost: b.test',
      'Host: {H}\r\nhost: b.test',
      'Host : {H}',
    ],
    ...[
      'Host: {H}\r\n b.test',
      'Host: {H}\nHost: b.test',
      'Host: {H}\0',
      'X: y',
      ' Host: {H}',
      'Host: {H}\x01',
    ],
  ];
  return refused.map((line) => ({
    name: `host ${visible(line)}`,
    bytes: `GET {T} HTTP/1.1\r\n${line}\r\n\r\n${HIDDEN}`,
    outcome: 'refused' as const,
  }));
}

function requestLines(): SmugglingCase[] {
  const refused = [
    ...['GET\t{T} HTTP/1.1', 'GET {T}\tHTTP/1.1', 'GET {T} HTTP/1.1 '],
    ...[
      'GET {T} http/1.1',
      'GET {T} HTTP/1.2',
      'GET {T} HTTP/2.0',
      'GET {T} HTTP/0.9',
      'GET {T} HTTP/1.1x',
    ],
    ...[
      'GET {T}',
      'GET {T} HTTP/1.1 GET',
      'GET {T} HTTP/11',
      'GET {T} HTTP/1',
      'GET {T} HTTP/1.',
      ' GET {T} HTTP/1.1',
    ],
    ...[
      'get {T} HTTP/1.1',
      'G\0ET {T} HTTP/1.1',
      'GET{T} HTTP/1.1',
      'FOO {T} HTTP/1.1',
      'PRI * HTTP/2.0',
    ],
    ...[
      'GET {T}\0 HTTP/1.1',
      'GET {T}\r HTTP/1.1',
      'GET {T}\x0bHTTP/1.1',
      'GET {T} x HTTP/1.1',
      'GET {T}\xe9 HTTP/1.1',
    ],
    ...[
      'GET {T} HTTP/1.1\n',
      'GET {T}\n',
      'GET {T} ICE/1.1',
      '\0GET {T} HTTP/1.1',
      'GET {T}\x7f HTTP/1.1',
    ],
  ];
  return [
    ...refused.map((line) => ({
      name: `request line ${visible(line)}`,
      bytes: `${line}\r\nHost: {H}\r\n\r\n${HIDDEN}`,
      outcome: 'refused' as const,
    })),
    ...[
      '\r\nGET {T} HTTP/1.1',
      'GET  {T} HTTP/1.1',
      'GET {T}  HTTP/1.1',
      'GET {T} RTSP/1.0',
      'HEAD {T} HTTP/1.1',
      'GET {T}?a=%0d%0aX:%201 HTTP/1.1',
      'GET {T}%00 HTTP/1.1',
    ].map((line) => ({
      name: `request line ${visible(line)}`,
      bytes: `${line}\r\nHost: {H}\r\n\r\n`,
      outcome: 'carried' as const,
    })),
  ];
}

function targets(): SmugglingCase[] {
  return [
    ...[
      'http://o.test\\@b.test/',
      'http://o.test:80:90/',
      'http://o.test:8 0/',
      'http:/o.test/',
      'http://',
      'http:///c',
    ],
    ...[
      'http://o.test%00.b.test/',
      'http://o.test%0d%0aX:1/',
      'http://[::1/',
      'http://o.test:-1/',
      'ftp://o.test/',
    ],
    ...[
      'http://o.test:99999/',
      'http://o..test/',
      'http://.test/',
      'javascript:1',
      'o.test:443',
      '*x',
      '?c',
    ],
    ...[
      'http://o.test:0x50/',
      'http://o.test:８０/',
      'http://o.test;b.test/',
      'http://o.test,b.test/',
      'http://o.test|b/',
    ],
  ].map((target) => ({
    name: `target ${visible(target)}`,
    bytes: `GET ${target} HTTP/1.1\r\nHost: {H}\r\n\r\n${HIDDEN}`,
    outcome: 'refused' as const,
  }));
}

/** Fields that would change what the message is if their being named in Connection were obeyed. */
function nominations(): SmugglingCase[] {
  const names = [
    'content-length',
    'Content-Length, host',
    'host',
    'close, content-length',
    'keep-alive, Content-Length',
  ];
  const body = HIDDEN;
  return [
    ...names.map((name) => ({
      name: `Connection: ${name} on a request with a length`,
      bytes: `${POST}Connection: ${name}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      outcome: 'carried' as const,
    })),
    ...['transfer-encoding', 'Transfer-Encoding, host', 'close, transfer-encoding'].map((name) => ({
      name: `Connection: ${name} on a request in chunks`,
      bytes: `${POST}Connection: ${name}\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      outcome: 'carried' as const,
    })),
    ...['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE', 'PUT'].map((method) => ({
      name: `${method} with a body that is a request`,
      bytes: `${method} {T} HTTP/1.1\r\nHost: {H}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      outcome: 'carried' as const,
    })),
    ...['h2c', 'foo', 'TLS/1.0'].map((protocol) => ({
      name: `an upgrade to ${protocol} with a body that is a request`,
      bytes: `${POST}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: ${protocol}\r\nHTTP2-Settings: AAMAAABk\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      outcome: 'carried' as const,
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
    outcome: 'refused' as const,
  }));
}
