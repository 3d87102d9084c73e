import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endToEnd, replyHeaders, requestHeaders } from './headers.ts';

test('fields between neighbours and those that Connection lists are dropped, the rest keeps order, case and doubles', () => {
  const raw = [
    ...['Host', 'o.test', 'connection', 'X-Hop, close', 'x-hop', '1', 'X-Multi', '1'],
    ...['Keep-Alive', 'timeout=5', 'Proxy-Connection', 'keep-alive', 'TE', 'trailers'],
    ...['Transfer-Encoding', 'chunked', 'Upgrade', 'h2c', 'HTTP2-Settings', 'AA', 'x-multi', '2'],
    ...['Proxy-Authenticate', 'Basic', 'Proxy-Authorization', 'Basic eDp5', 'Trailer', 'X-Sum'],
  ];
  assert.deepEqual(endToEnd(raw), [
    'Host',
    'o.test',
    'X-Multi',
    '1',
    'x-multi',
    '2',
    'Trailer',
    'X-Sum',
  ]);
});

test('a Connection that lists what the message needs does not take it away', () => {
  const raw = [
    'Connection',
    'host, Content-Length,authorization',
    'Connection',
    'cookie, cache-control',
  ];
  const needed = [
    'Host',
    'o.test',
    'Content-Length',
    '3',
    'Authorization',
    'x',
    'Cookie',
    'a=1',
    'Cache-Control',
    'no-cache',
  ];
  assert.deepEqual(endToEnd([...raw, ...needed]), needed);
});

test('words to this proxy end here, and only those', () => {
  const raw = [
    'Forbear-Session',
    's',
    'FORBEAR-RETRY',
    'off',
    'proxy-anything',
    '1',
    'Expect',
    '100-continue',
    'X-Forbear',
    '1',
    'Expect-CT',
    'x',
  ];
  assert.deepEqual(requestHeaders(raw, undefined), ['X-Forbear', '1', 'Expect-CT', 'x']);
});

test('Host is replaced where it stands, and comes first where there was none', () => {
  assert.deepEqual(requestHeaders(['A', '1', 'hOST', 'b', 'C', '2'], 'a.test'), [
    'A',
    '1',
    'hOST',
    'a.test',
    'C',
    '2',
  ]);
  assert.deepEqual(requestHeaders(['A', 'Host'], 'a.test'), ['Host', 'a.test', 'A', 'Host']);
});

test('a length that another framing overrides, or that a 204 cannot have, is not passed on', () => {
  assert.deepEqual(
    replyHeaders(['Content-Length', '3', 'Transfer-Encoding', 'chunked', 'A', '1'], 200),
    ['A', '1'],
  );
  assert.deepEqual(replyHeaders(['Content-Length', '3'], 204), []);
  assert.deepEqual(replyHeaders(['Content-Length', '3'], 304), ['Content-Length', '3']);
});

test('cookies of a reply stay apart and in order', () => {
  const cookies = ['Set-Cookie', 'a=1', 'set-cookie', 'b=2', 'Set-Cookie', 'a=3'];
  assert.deepEqual(replyHeaders(cookies, 200), cookies);
});
