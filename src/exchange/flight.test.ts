import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { Flight } from './flight.ts';

const flightOf = (held: Buffer | string, onStands = () => {}) =>
  new Flight({
    near: new PassThrough(),
    held: Buffer.from(held as string, 'latin1'),
    replayMethods: ['GET', 'HEAD', 'DELETE'],
    onStands,
  });

const HELLO = '\x16\x03\x01\x00\x04\x01\x00\x00\x00';
const CHANGE = '\x14\x03\x03\x00\x01\x01';

test('a flight is kept for as long as it would do no harm when it is said twice', () => {
  const rows: [string, string][] = [
    ['', 'silent'],
    ...Array.from({ length: HELLO.length }, (_, i): [string, string] => [
      HELLO.slice(0, i + 1),
      'kept',
    ]),
    [HELLO + CHANGE + HELLO, 'kept'],
    [`${HELLO}\x17\x03\x03\x00\x01x`, 'over'],
    [`${HELLO}GET / HTTP/1.1\r\n`, 'over'],
    ['\x15\x03\x03\x00\x02\x01\x00', 'over'],
    ['G', 'kept'],
    ['GET', 'kept'],
    ['GET /', 'kept'],
    ['GET / HTTP/1.1\r\nHost: a\r\n\r\n', 'kept'],
    ['GET / HTTP/1.1\r\nHost: a\r\n\r\nx', 'over'],
    ['get / HTTP/1.1\r\n\r\n', 'over'],
    ['POST / HTTP/1.1\r\n\r\n', 'over'],
    ['P', 'over'],
    ['GETTY / HTTP/1.1\r\n\r\n', 'over'],
    ['SSH-2.0-x\r\n', 'over'],
    ['QUIT\r\n', 'over'],
    ['\0', 'over'],
    [`\x16\x03\x01\xff\xff${'x'.repeat(65_535)}`, 'over'],
  ];
  for (const [held, state] of rows) {
    assert.equal(flightOf(held).state, state, JSON.stringify(held.slice(0, 40)));
  }
});

test('what must not be said twice can still be said once', () => {
  const flight = flightOf('POST / HTTP/1.1\r\n\r\n');
  assert.equal(flight.replayable, true);
  flight.sendTo(new PassThrough());
  assert.equal(flight.replayable, false);
});

test('each leg hears all of it, once, and the client is told of the first leg only', () => {
  let told = 0;
  const flight = flightOf(HELLO, () => {
    told += 1;
  });
  const legs = [new PassThrough(), new PassThrough()];
  for (const leg of legs) {
    flight.sendTo(leg);
    flight.sendTo(leg);
    assert.equal(leg.read().toString('latin1'), HELLO);
    assert.equal(leg.read(), null);
  }
  assert.equal(told, 1);
  assert.equal(flight.sentBytes, HELLO.length);
  flight.forget();
  assert.equal(flight.sentBytes, HELLO.length);
});
