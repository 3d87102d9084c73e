import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import type { BodyLimits } from '../src/telemetry/logged-reply.ts';
import { startExit } from './support/exit-proxy.ts';
import { LIMIT } from './support/forbear-process.ts';
import { events, type Seen, send, site } from './support/letters.ts';
import { attemptsOf, endsOf, recordedProxy, replayed } from './support/recorded.ts';
import { CHALLENGE_PAGE } from './support/site-pages.ts';
import { get } from './support/whole-proxy.ts';

const EXITS = ['127.0.9.1', '127.0.9.2', '127.0.9.3', '127.0.9.4'];
const NAMES = 'good rate hour down dead wall soft cut reset half slow post order own vague'.split(
  ' ',
);
const LONG_PAGE = `<html><body>${'sorry, we could not do it. '.repeat(300)}</body></html>`;

const config = (exits: readonly string[]) => [
  `upstreams: [{ name: pool, routes: [${exits.map((url) => `"${url}"`).join(', ')}] }]`,
  'policy:',
  '  patience: 8s',
  '  backoff: { base: 20ms, cap: 60ms }',
  '  timeouts: { first_byte: 300ms }',
  '  routes: { warm: 4 }',
  'profiles: { brave: { max_attempts: 2 } }',
  'targets:',
  '  - match: vague.test',
  '    backoff: { base: 800ms, cap: 2s }',
  '  - match: half.test',
  '    expect: [{ when: { status: 200 }, body_contains: "</html>", else: transient }]',
  '  - match: own.test',
  '    replies: [{ when: { status: 400, body_contains: GONE }, verdict: terminal, label: gone }]',
];

/** Answers by name and path, and by how often it was asked for it. */
function answer() {
  const times = new Map<string, number>();
  const html = { 'Content-Type': 'text/html' };
  return (seen: Seen, response: ServerResponse, exit: string, host: string): void => {
    const key = `${host}${seen.url}`;
    const n = (times.get(key) ?? 0) + 1;
    times.set(key, n);
    const say = (status: number, text = 'well', fields = {}) =>
      response.writeHead(status, { ...html, ...fields }).end(text);
    switch (host) {
      case 'rate.test':
        return void (n === 1 ? say(429, 'later', { 'Retry-After': '1' }) : say(200));
      case 'vague.test':
        // No time is named: how long the pause is lies with the dice.
        return void (n === 1 ? say(429, 'later') : say(200));
      case 'hour.test':
        return void say(429, 'later', { 'Retry-After': '7200' });
      case 'down.test':
        return void (n <= 2 ? say(503, LONG_PAGE) : say(200, LONG_PAGE));
      case 'dead.test':
        return void say(500, LONG_PAGE);
      case 'wall.test':
        if (seen.url === '/all') return void say(403, 'no entry');
        return void (exit === EXITS[0] || exit === EXITS[1] ? say(403, 'no') : say(200));
      case 'soft.test':
        return void (n === 1 ? say(200, CHALLENGE_PAGE) : say(200));
      case 'cut.test':
        if (n > 1) return void say(200);
        response.writeHead(200, { ...html, 'Content-Length': '100' });
        return void response.write('half', () => response.destroy());
      case 'reset.test':
        return void (n === 1 ? response.socket?.resetAndDestroy() : say(200));
      case 'half.test':
        return void say(200, n <= 1 ? '<html>half' : '<html></html>');
      case 'slow.test':
        if (n > 1) say(200);
        return;
      case 'post.test':
      case 'order.test':
        return void say(500);
      case 'own.test':
        return void say(400, 'ENTRY_GONE');
      default:
        return void (seen.url.startsWith('/missing') ? say(404) : say(200, LONG_PAGE));
    }
  };
}

/** A run in which about everything happens that can happen to a scraper. */
async function mixedRun(t: TestContext, bodies: BodyLimits) {
  const say = answer();
  const far = await site(t, (seen, response, request) =>
    say(seen, response, request.socket.remoteAddress ?? '', String(request.headers.host)),
  );
  const port = Number(far.authority.split(':')[1]);
  const names = Object.fromEntries(NAMES.map((name) => [`${name}.test`, port]));
  const exits = await Promise.all(EXITS.map((exit) => startExit(t, { exit, names })));
  const lines = config(exits.map(({ url }) => url));
  const whole = await recordedProxy(t, lines, bodies);
  let asked = 0;
  const ask = (url: string, headers: Record<string, string> = {}) => {
    asked += 1;
    return get(whole.port, `http://${url}`, { headers });
  };
  const many = (url: string, count: number, headers = {}) =>
    Promise.all(Array.from({ length: count }, (_, n) => ask(`${url}${n}`, headers)));

  await Promise.all([many('good.test/', 5), ask('good.test/missing?token=hush&page=2')]);
  await Promise.all([
    many('down.test/', 2),
    ask('post.test/once', { 'Forbear-Retry': 'off' }),
    ask('post.test/brave', { 'Forbear-Profile': 'brave' }),
    ask('post.test/impatient', { 'Forbear-Patience': '1s', 'Forbear-Max-Attempts': '2' }),
    ask('rate.test/'),
    ask('vague.test/'),
    ask('own.test/'),
    ask('half.test/'),
    ask('half.test/wish', { 'Forbear-Expect': 'never there' }),
    send(whole.port, 'http://order.test/', { body: Buffer.from('order') }),
  ]);
  await Promise.all([many('wall.test/', 6), ask('soft.test/')]);
  await ask('wall.test/all', { 'Forbear-Session': 's1' });
  await ask('wall.test/all');
  await Promise.all([ask('cut.test/'), ask('reset.test/'), ask('slow.test/')]);
  await ask('hour.test/1');
  await many('hour.test/', 2);
  await many('dead.test/', 12, { 'Forbear-Patience': '2s' });
  await many('dead.test/more', 3, { 'Forbear-Patience': '1s' });
  await ask('nowhere.test/');
  await events(whole, 'exchange_finished', asked);
  const entries = await whole.entries();
  return { entries, file: whole.file, text: ['listen: 127.0.0.1:0', ...lines].join('\n') };
}

const wordsIn = (words: readonly string[]) => [...new Set(words)].sort();

const LIMITS: readonly BodyLimits[] = [
  { goodChars: 0, otherChars: 2_048 },
  { goodChars: 0, otherChars: 0 },
  { goodChars: 100_000, otherChars: 100_000 },
];

for (const bodies of LIMITS) {
  const kept = `${bodies.goodChars} and ${bodies.otherChars} characters of bodies`;
  test(`with ${kept} a replay under the same rules finds no difference`, LIMIT, async (t) => {
    const { entries, file, text } = await mixedRun(t, bodies);
    const attempts = attemptsOf(entries);
    const verdicts = wordsIn(attempts.map(({ verdict }) => `${verdict.fault}/${verdict.reason}`));
    const stops = wordsIn([
      ...attempts.flatMap(({ action }) => (action.kind === 'fail' ? [action.stop] : [])),
      ...endsOf(entries).flatMap(({ stop }) => (stop === undefined ? [] : [stop])),
    ]);
    t.diagnostic(`${attempts.length} attempts; ${verdicts.join(' ')}; ${stops.join(' ')}`);
    for (const word of [
      ...['none/ok', 'client/not_found', 'client/rule', 'host/rate_limited', 'host/overloaded'],
      ...['host/truncated', 'host/unexpected', 'route/blocked', 'route/challenged'],
    ]) {
      assert.ok(verdicts.includes(word), `${word} did not happen`);
    }
    for (const stop of [
      'wait_too_long',
      'lane_paused',
      'breaker_open',
      'maybe_executed',
      'retry_off',
    ]) {
      assert.ok(stops.includes(stop), `${stop} did not happen`);
    }
    for (const kind of ['deliver', 'wait', 'rotate', 'burn', 'fail']) {
      assert.ok(
        attempts.some(({ action }) => action.kind === kind),
        `${kind} did not happen`,
      );
    }

    const found = await replayed(file, text);
    assert.equal(found.attempts, attempts.length);
    assert.equal(found.compared, attempts.length);
    assert.deepEqual(found.rules, []);
    assert.deepEqual(found.different, { count: 0, exchanges: [] });
    assert.deepEqual(found.lanes, []);
    assert.deepEqual(found.hosts, []);
    assert.deepEqual(found.doubtful, []);
    assert.deepEqual(found.not_compared, []);
    assert.deepEqual(found.unusable, []);
  });
}
