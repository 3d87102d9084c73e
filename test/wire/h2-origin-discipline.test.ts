import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWire } from '../support/client-wire.ts';
import { fetchOver } from '../support/far-side.ts';
import { CODE, data, FLAG, headers, rstStream } from '../support/h2-frames.ts';
import { type FramePeer, frameOrigin } from '../support/h2-origin.ts';

const QUICK = 'policy: { backoff: { base: 1ms, cap: 2ms }, http2: always }';
const NEVER = 'policy: { backoff: { base: 1ms, cap: 2ms }, http2: never }';
const AUTO = 'policy: { backoff: { base: 1ms, cap: 2ms } }';

const url = ({ port }: { port: number }): string => `https://o.test:${port}/`;
const post = { method: 'POST', body: 'x' };
const whole = (peer: FramePeer, stream: number) =>
  peer.say(
    headers(stream, [[':status', '200']], FLAG.endHeaders),
    data(stream, 'ok', FLAG.endStream),
  );

test('B25 an origin that speaks h2 only serves a client of HTTP/1.1 at the first try', async (t) => {
  const origin = await frameOrigin(t, whole);
  const wire = await startWire(t, [AUTO]);
  const got = await fetchOver(wire, url(origin));
  assert.equal(got.status, 200);
  assert.match(got.head, /^HTTP\/1\.1 200 OK\r\n/);
  assert.equal(got.field('Forbear-Attempts'), '1');
});

test('B25 where h2 is off it is refused for good: one handshake, a clear token, nobody blamed', async (t) => {
  const origin = await frameOrigin(t, whole);
  const wire = await startWire(t, [NEVER]);
  const got = await fetchOver(wire, url(origin));
  assert.equal(got.status, 502);
  assert.match(got.field('Proxy-Status') ?? '', /error=tls_alert_received/);
  assert.equal(got.field('Forbear-Attempts'), '1');
  assert.equal(got.field('Forbear-Verdict'), 'client/malformed_reply');
  assert.equal(origin.accepted, 1);
});

test('a POST that was refused before it was acted upon goes out again', async (t) => {
  const origin = await frameOrigin(t, (peer, stream, nth) => {
    if (nth === 1) peer.say(rstStream(stream, CODE.refusedStream));
    else whole(peer, stream);
  });
  const wire = await startWire(t, [QUICK]);
  const got = await fetchOver(wire, url(origin), post);
  assert.deepEqual([got.status, got.field('Forbear-Attempts')], [200, '2']);
  assert.deepEqual(
    wire.told('attempt_finished').map(({ verdict }) => verdict.reason),
    ['overloaded', 'ok'],
  );
});

test('a POST that was reset for any other reason does not', async (t) => {
  const origin = await frameOrigin(t, (peer, stream) =>
    peer.say(rstStream(stream, CODE.internalError)),
  );
  const wire = await startWire(t, [QUICK]);
  const got = await fetchOver(wire, url(origin), post);
  assert.deepEqual([got.status, got.field('Forbear-Stop')], [502, 'maybe_executed']);
});

test('ENHANCE_YOUR_CALM pauses the lane, and the request goes out again on the same route', async (t) => {
  const origin = await frameOrigin(t, (peer, stream, nth) => {
    if (nth === 1) peer.say(rstStream(stream, CODE.enhanceYourCalm));
    else whole(peer, stream);
  });
  const wire = await startWire(t, [QUICK]);
  const got = await fetchOver(wire, url(origin));
  assert.deepEqual([got.status, got.field('Forbear-Attempts')], [200, '2']);
  const [first] = wire.told('attempt_finished');
  assert.equal(first?.verdict.reason, 'rate_limited');
  assert.deepEqual([first?.action.kind, first?.reply.kind], ['wait', 'failure']);
});
