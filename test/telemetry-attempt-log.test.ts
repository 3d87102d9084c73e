import assert from 'node:assert/strict';
import { readFileSync, renameSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import type { AttemptLine } from '../src/telemetry/attempt-line.ts';
import { openAttemptLog } from '../src/telemetry/attempt-log.ts';
import type { ProxyEvent } from '../src/telemetry/events.ts';
import { startExit } from './support/exit-proxy.ts';
import { FakeClock } from './support/fake-clock.ts';
import { LIMIT } from './support/forbear-process.ts';
import { events, site } from './support/letters.ts';
import { exchangeFor } from './support/playbook.ts';
import { policyWith } from './support/policy.ts';
import {
  attemptsOf,
  endsOf,
  entriesOf,
  fresh,
  recordedProxy,
  replayed,
} from './support/recorded.ts';
import { get } from './support/whole-proxy.ts';

const BACKOFF = 'policy: { backoff: { base: 20ms, cap: 20ms } }';

/** A site that fails once, behind a proxy that records. */
async function retriedRun(t: TestContext) {
  const far = await site(t, (seen, response) => {
    const isFirst = seen.url.startsWith('/retried') && far.seen.length === 1;
    response.writeHead(isFirst ? 503 : 200, { 'Content-Type': 'text/html' });
    response.end(isFirst ? 'too busy' : 'a good page');
  });
  const whole = await recordedProxy(t, [BACKOFF]);
  await get(whole.port, `${far.url}/retried?page=2`, { headers: { 'Forbear-Patience': '9s' } });
  await get(whole.port, `${far.url}/good`, { method: 'HEAD' });
  await events(whole, 'exchange_finished', 2);
  return { far, ...whole, lines: await whole.entries() };
}

test(
  'a log tells each attempt as the events tell it, with all that it was judged by',
  LIMIT,
  async (t) => {
    const { far, lines, told } = await retriedRun(t);
    assert.deepEqual(
      lines.map(({ kind, v }) => [kind, v]),
      ['head', 'policy', 'attempt', 'attempt', 'end', 'policy', 'attempt', 'end'].map((kind) => [
        kind,
        1,
      ]),
    );
    const attempts = attemptsOf(lines);
    for (const [i, event] of told('attempt_finished').entries()) {
      const line = attempts[i] as AttemptLine;
      const { exchange, n, at, route, verdict, basis, reply } = event;
      assert.deepEqual(
        [line.exchange, line.n, line.at, line.lane],
        [exchange.id, n, at, event.lane],
      );
      assert.deepEqual([line.sent, line.received], [event.sentBytes, event.receivedBytes]);
      assert.deepEqual(line.route, { id: route.id, label: route.label, upstream: route.upstream });
      assert.deepEqual(line.verdict, JSON.parse(JSON.stringify(verdict)));
      assert.equal(line.action.kind, event.action.kind);
      assert.equal(line.basis?.retriesLeft, basis?.retriesLeft);
      assert.equal(line.basis?.progress.roll, basis?.progress.roll);
      assert.ok(line.reply.kind === 'response' && reply.kind === 'response');
      assert.equal(line.reply.status, reply.status);
      assert.deepEqual(line.reply.rawHeaders, reply.rawHeaders);
    }
    const [failed, retried, head] = attempts;
    assert.deepEqual(
      [failed?.request.method, failed?.request.path, failed?.request.wished, failed?.authority],
      ['GET', '/retried?page=2', { patienceMs: 9_000 }, far.authority],
    );
    const bodies = attempts.map(({ reply }) =>
      reply.kind === 'response' ? reply.body : undefined,
    );
    assert.ok(bodies[0]?.kind === 'seen' && bodies[1]?.kind === 'seen');
    assert.deepEqual([bodies[0].text, bodies[0].chars], ['too busy', undefined]);
    // What was good is not kept, only how long it was.
    assert.deepEqual([bodies[1].text, bodies[1].chars], ['', 11]);
    assert.equal(head?.request.method, 'HEAD');
    assert.deepEqual([failed?.policy, retried?.policy === head?.policy], [retried?.policy, false]);
    const [first, second] = endsOf(lines);
    assert.deepEqual(
      [first?.exchange, first?.attempts, first?.answered],
      [failed?.exchange, 2, 200],
    );
    assert.ok((first?.waitedMs ?? -1) >= 0 && first?.stop === undefined);
    assert.deepEqual([second?.attempts, second?.answered], [1, 200]);
  },
);

test('no secret gets into the log', LIMIT, async (t) => {
  const far = await site(t, (seen, response) => {
    const back = 'https://far.test/login?token=hush-location&page=1';
    response.setHeader('Set-Cookie', 'sid=hush-set-cookie');
    response.setHeader('X-Auth-Token', 'hush-x-auth');
    response.setHeader('Location', back);
    response.writeHead(seen.url.startsWith('/blocked') ? 403 : 500).end('no');
  });
  const port = Number(far.authority.split(':')[1]);
  const exit = await startExit(t, { exit: '127.0.9.1', names: { 'far.test': port } });
  const url = exit.url.replace('user:secret', 'user:hush-upstream');
  const whole = await recordedProxy(t, [
    `upstreams: [{ name: good, routes: ["${exit.url}"] }, { name: bad, routes: ["${url}"] }, { name: dead, routes: ["http://user:hush-dead@127.0.0.1:9"] }]`,
    'clients: [{ name: me, password: hush-client }]',
    'policy: { backoff: { base: 20ms, cap: 20ms }, max_attempts: 4, dead_letters: { webhook: { url: "http://127.0.0.1:9/hush-hook", secret: hush-hook-secret-of-some-length } } }',
    'targets: [{ match: bad.test, upstreams: [bad] }, { match: dead.test, upstreams: [dead] }]',
  ]);
  const headers = (session: string) => ({
    ...{ Authorization: 'Bearer hush-authorization', Cookie: 'a=hush-cookie' },
    'Proxy-Authorization': `Basic ${Buffer.from(`me-session-${session}:hush-client`).toString('base64')}`,
    'X-Api-Key': 'hush-api-key',
  });
  for (const [i, name] of ['far.test/', 'far.test/blocked', 'bad.test/', 'dead.test/'].entries()) {
    const secrets =
      'token=hush-1&x=1&api_key=hush-2&password=hush-3&access_token=hush-4&sid=hush-5';
    await get(whole.port, `http://${name}?${secrets}`, { headers: headers(`s${i}`) });
  }
  await events(whole, 'exchange_finished', 4);
  const entries = await whole.entries();
  assert.ok(attemptsOf(entries).length >= 5);
  const text = readFileSync(whole.file, 'utf8');
  assert.doesNotMatch(text, /hush|user:|secret/);
  assert.match(text, /token=\*\*\*&x=1&api_key=\*\*\*/);
  assert.match(text, /Location","https:\/\/far\.test\/login\?token=\*\*\*&page=1"/);
  const verdicts = attemptsOf(entries).map(({ verdict }) => `${verdict.fault}/${verdict.reason}`);
  assert.ok(verdicts.includes('account/upstream_auth'), verdicts.join(' '));
});

/** A log that is handed made events. */
function openLog(t: TestContext, bodies = { goodChars: 100, otherChars: 1_000 }) {
  const file = fresh('events.jsonl');
  const clock = new FakeClock();
  const log = openAttemptLog({ file, bodies, version: '1.2.3', clock, tell: () => {} });
  t.after(() => log.close());
  const lines = async () => {
    await log.close();
    return entriesOf(file);
  };
  return { ...log, file, clock, lines };
}

type Attempt = Extract<ProxyEvent, { type: 'attempt_finished' }>;

function attempt(
  patch: { policy?: Attempt['exchange']['policy']; text?: string; headers?: string[] } = {},
): Attempt {
  const { text = 'text', headers = [] } = patch;
  const policy = patch.policy ?? policyWith();
  const evidence = { kind: 'status', status: 404 } as const;
  return {
    ...{ type: 'attempt_finished', at: 5, lane: 'shop.test', n: 1 },
    exchange: exchangeFor({ policy }, 0),
    route: {
      ...{ id: 'r', label: 'pool/r', upstream: 'pool', way: { kind: 'direct' } },
      ...{ session: undefined, generation: 0 },
    },
    reply: {
      ...{ kind: 'response', status: 404, rawHeaders: headers, via: 'direct', headMs: 1 },
      body: { kind: 'seen', text, receivedBytes: text.length, end: 'complete', coding: 'ok' },
    },
    verdict: { fault: 'client', reason: 'not_found', evidence },
    action: { kind: 'deliver' },
    ...{ durationMs: 1, sentBytes: 1, receivedBytes: 1 },
  };
}

test('a line is bounded, whatever the reply holds', async (t) => {
  const log = openLog(t);
  // Each of these characters is six in JSON.
  const controls = '\u0001'.repeat(100_000);
  const headers = Array.from({ length: 400 }, (_, i) => (i % 2 === 0 ? `X-${i}` : controls));
  log.record(attempt({ text: controls }));
  log.record(attempt({ text: controls, headers }));
  log.record(attempt({ headers: ['X-Long', 'v'.repeat(50_000)] }));
  const [plain, bare, cut] = attemptsOf(await log.lines());
  for (const line of [plain, bare, cut]) {
    assert.ok(JSON.stringify(line).length <= 32 * 1024 + 2_000);
  }
  assert.ok(plain?.reply.kind === 'response' && plain.reply.body.kind === 'seen');
  assert.deepEqual([plain.reply.body.text.length, plain.reply.body.chars], [1_000, 100_000]);
  assert.ok(bare?.reply.kind === 'response' && bare.reply.body.kind === 'seen');
  assert.deepEqual([bare.reply.rawHeaders, bare.reply.body.text], [[], '']);
  assert.equal(bare.reply.body.chars, 100_000);
  assert.ok(cut?.reply.kind === 'response');
  assert.equal(cut.reply.rawHeaders[1]?.length, 1_024);
});

test('rules are told once, again in each new file, and again after many others', async (t) => {
  const log = openLog(t);
  const policy = policyWith();
  for (let i = 0; i < 3; i += 1) log.record(attempt({ policy: { ...policy } }));
  log.record(attempt({ policy: { ...policy, maxAttempts: 9 } }));
  const entries = await log.lines();
  const ids = entries.flatMap((entry) => (entry.kind === 'policy' ? [entry.id] : []));
  assert.deepEqual([ids.length, new Set(ids).size], [2, 2]);
  assert.deepEqual(
    attemptsOf(entries).map((line) => line.policy),
    [ids[0], ids[0], ids[0], ids[1]],
  );

  const many = openLog(t);
  for (let i = 1; i <= 300; i += 1) many.record(attempt({ policy: { ...policy, patienceMs: i } }));
  many.record(attempt({ policy: { ...policy, patienceMs: 1 } }));
  const known = new Set<string>();
  for (const entry of await many.lines()) {
    if (entry.kind === 'policy') known.add(entry.id);
    if (entry.kind === 'attempt') assert.ok(known.has(entry.policy));
  }
  assert.equal(known.size, 300);
});

test('every file that a rotation leaves can be replayed alone', async (t) => {
  const log = openLog(t);
  const policy = policyWith();
  log.record(attempt({ policy }));
  while (!readFileSync(log.file, 'utf8').includes('"attempt"')) await new Promise(setImmediate);
  renameSync(log.file, `${log.file}.1`);
  log.reopen();
  log.record(attempt({ policy: { ...policy } }));
  const entries = await log.lines();
  assert.deepEqual(
    entries.map(({ kind }) => kind),
    ['head', 'policy', 'attempt'],
  );
  for (const file of [log.file, `${log.file}.1`]) {
    const { attempts, not_compared } = await replayed(file, '');
    assert.deepEqual([attempts, not_compared.length], [1, 1]);
    assert.equal(not_compared[0]?.why, 'requests for the rest of a body');
  }
});

test('a thousand records take no time from whoever makes them', async (t) => {
  const log = openLog(t);
  const event = attempt({ text: 'x'.repeat(100_000) });
  const before = process.cpuUsage();
  for (let i = 0; i < 1_000; i += 1) log.record(event);
  const { user, system } = process.cpuUsage(before);
  assert.ok((user + system) / 1_000 < 1_000, `${(user + system) / 1_000} ms`);
  assert.equal(attemptsOf(await log.lines()).length, 1_000);
  log.record(event);
});
