import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { newLedger } from '../src/core/ledger.ts';
import { createEvidence } from '../src/exchange/evidence.ts';
import { LocalNetwork } from '../src/exchange/network.ts';
import { createPages } from '../src/exchange/pages.ts';
import type { Exchange, Lane } from '../src/exchange/ports.ts';
import { judgeTools } from '../src/judge-tools.ts';
import { createLanes } from '../src/lanes/lanes.ts';
import { seededRandom } from './support/fake-clock.ts';
import { ok, overloaded, Traffic } from './support/lane-traffic.ts';
import { exchange, LANE, list, report, siteWith, take } from './support/ways.ts';

const MIB = 1024 * 1024;
/** The whole of them takes its time; more than the tables hold shows the same. */
const HOSTS = process.env.CI === undefined ? 45_000 : 400_000;
const TABLES_FULL = 25_000;

/** The heap in use once there is nothing left to collect. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}

const PAGE = '<html><head><title>Page</title></head><body><p>Words of a page.</p></body></html>';
const RESPONSE = {
  kind: 'response',
  via: 'direct',
  status: 200,
  rawHeaders: ['Content-Type', 'text/html'],
  headMs: 20,
  body: {
    kind: 'seen',
    text: PAGE,
    bytes: PAGE.length,
    receivedBytes: PAGE.length,
    end: 'complete',
  },
} as const;

/** All that one proxy remembers of hosts, and a crawler that visits one host after the other. */
function crawler() {
  const site = siteWith([list('dc', 10)]);
  const { clock } = site;
  const emit = () => {};
  const network = new LocalNetwork({ clock, emit });
  const lanes = createLanes({ clock, random: seededRandom(3), emit, network });
  const pages = createPages({ clock, emit, tools: judgeTools } as never);
  const evidence = createEvidence({ clock, network, upstreams: () => 1 });
  // Read now and then, as by the saving.
  const kept = [lanes.kept, ...site.routes.kept, pages.kept];
  const visit = async (n: number): Promise<void> => {
    const host = `h${n}.test`;
    const base = exchange({ now: clock.now() });
    const by: Exchange = { ...base, target: { ...base.target, host, authority: host } };
    const lane: Lane = lanes.laneFor(by, undefined);
    const admission = await lane.admit(by);
    assert.equal(admission.kind, 'admitted');
    const route = take(site, by, newLedger, lane.id);
    const watch = evidence.begin(by, lane.id, route);
    watch.end(RESPONSE as never);
    watch.judged(RESPONSE as never, ok);
    pages.look({ exchange: by, lane, route, reply: RESPONSE } as never);
    pages.record({ exchange: by, lane, route, reply: RESPONSE } as never, ok);
    lane.record({ exchange: by, admission, verdict: ok, route });
    report(site, route, ok, { lane: lane.id, exchange: by });
    if (admission.kind === 'admitted') admission.release();
    if (n % 1_000 === 0) for (const table of kept) Array.from(table.changes('rough'));
  };
  return { lanes, clock, visit };
}

test('B115 after the tables are full further hosts, however many, add nothing: no memory, no timer', async () => {
  const { lanes, clock, visit } = crawler();
  for (let n = 0; n < TABLES_FULL; n++) await visit(n);
  const before = heapBytes();
  const timers = clock.pending;
  for (let n = TABLES_FULL; n < HOSTS; n++) await visit(n);
  const grown = heapBytes() - before;
  assert.ok(
    grown < 24 * MIB,
    `${Math.round(grown / MIB)} MiB more for ${HOSTS - TABLES_FULL} hosts`,
  );
  assert.ok(clock.pending <= timers + 2, `${clock.pending} timers`);
  assert.ok(lanes.list().length <= 10_000);
});

test('B115 an open breaker outlives tens of thousands of other hosts, and a healthy host comes back as new', async () => {
  const traffic = new Traffic();
  for (let i = 0; i < 7; i++) {
    const asked = traffic.ask();
    await traffic.clock.advance(0);
    if (asked.state === 'admitted') asked.finish(overloaded);
  }
  const brokenState = () => traffic.lanes.list().find(({ id }) => id === LANE)?.breaker;
  assert.equal(brokenState(), 'open');
  for (let n = 0; n < 30_000; n++) {
    const asked = traffic.make({ host: `h${n}.test` });
    const admission = await asked.admit();
    assert.equal(admission.kind, 'admitted');
    asked.finish(ok);
  }
  assert.equal(brokenState(), 'open');
  assert.ok(traffic.lanes.list().length <= 10_000);
  assert.ok(!traffic.lanes.list().some(({ id }) => id === 'h0.test'));
  const again = traffic.ask({ host: 'h0.test' });
  await traffic.clock.advance(0);
  assert.equal(again.state, 'admitted');
  const seen = traffic.lanes.list().find(({ id }) => id === 'h0.test');
  assert.deepEqual([seen?.breaker, seen?.rate, seen?.pausedUntil], ['closed', null, undefined]);
});
