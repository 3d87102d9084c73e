import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BLOCKS, HONEST_SITES } from '../../test/support/crawled-site.ts';
import { FakeClock } from '../../test/support/fake-clock.ts';
import { CHALLENGE, judge, page } from '../../test/support/judging.ts';
import { exchangeFor } from '../../test/support/playbook.ts';
import { policyWith } from '../../test/support/policy.ts';
import { classify } from '../core/classify.ts';
import type { Policy } from '../core/policy.ts';
import type { ResponseReply } from '../core/verdict.ts';
import type { ProxyEvent } from '../telemetry/events.ts';
import { createPages, type SeenReply } from './pages.ts';
import type { Lane, Route } from './ports.ts';

const shop = HONEST_SITES[0]!;
const block = BLOCKS[0]!;

/** A proxy's memory with everything it tells. */
function memory(softBlocks: Partial<Policy['softBlocks']>) {
  const events: ProxyEvent[] = [];
  const clock = new FakeClock();
  const policy = policyWith({ softBlocks });
  const { tools } = judge();
  const pages = createPages({ clock, emit: (event) => events.push(event), tools });
  const visit = (
    path: string,
    reply: ResponseReply,
    change: Partial<Policy> = {},
    lane = 'shop.test',
  ) => {
    const exchange = exchangeFor({ policy: { ...policy, ...change }, path }, 0);
    const seen: SeenReply = {
      exchange,
      reply,
      lane: { id: lane } as Lane,
      route: { id: 'a', label: 'list/a' } as Route,
    };
    const suspicion = pages.look(seen);
    const { request } = judge();
    const verdict = classify(
      reply,
      judge({ policy: exchange.policy, request: { ...request, path }, suspicion }),
    );
    pages.record(seen, verdict);
    return verdict;
  };
  const learn = (count: number) => {
    for (let n = 0; n < count; n++) visit(shop.path(n), shop.reply(n));
  };
  return { pages, events, visit, learn };
}

const types = (events: readonly ProxyEvent[]) => events.map(({ type }) => type);

describe('learned signs', () => {
  test('are told and nothing more, by default', () => {
    const { events, visit, learn } = memory({});
    learn(30);
    assert.equal(events.length, 0);
    const verdicts = [0, 1, 2].map((n) => visit(shop.path(40 + n), block.blocked(n)).fault);
    assert.deepEqual(verdicts, ['none', 'none', 'none']);
    assert.ok(types(events).includes('suspicious_reply'));
    const [first] = events;
    assert.ok(first?.type === 'suspicious_reply');
    assert.equal(first.sign, 'learned');
    assert.equal(first.enforced, false);
    assert.ok(first.for.length > 0 && first.score >= 1);
  });

  test('make a verdict where they are enforced, which is told too', () => {
    const { events, visit, learn } = memory({ learned: 'enforce' });
    learn(30);
    visit(shop.path(40), block.blocked(0));
    const verdict = visit(shop.path(41), block.blocked(1));
    assert.equal(`${verdict.fault}/${verdict.reason}`, 'route/blocked');
    const last = events.at(-1);
    assert.ok(last?.type === 'suspicious_reply' && last.enforced);
    assert.equal(visit(shop.path(42), shop.reply(42)).fault, 'none', 'a good page is good still');
  });

  test('are not looked for when they are off', () => {
    const { events, visit, learn, pages } = memory({ learned: 'off' });
    learn(30);
    visit(shop.path(41), block.blocked(1));
    assert.equal(events.length, 0);
    assert.deepEqual(pages.snapshot().lanes, []);
  });

  test('are not learned from a reply that failed, nor from one that a rule of the user made good', () => {
    const { visit, pages } = memory({});
    visit('/p/1', page(CHALLENGE));
    visit('/p/1', page('gone', { status: 404 }));
    visit('/p/1', page('x'), {
      expect: [{ when: {}, bodyContains: 'y', otherwise: 'transient', label: 'e' }],
    });
    visit('/p/1', page('0 results'), {
      replies: [{ when: { bodyContains: '0 results' }, verdict: 'ok', label: 'empty' }],
    });
    assert.deepEqual(pages.snapshot().lanes, []);
  });

  test('leave a reply alone that a rule of the user calls good', () => {
    const { visit, learn } = memory({ learned: 'enforce' });
    learn(30);
    const replies = [{ when: {}, verdict: 'ok', label: 'all is well' }] as const;
    for (const n of [40, 41, 42]) {
      assert.equal(visit(shop.path(n), block.blocked(n), { replies }).fault, 'none');
    }
  });

  test('of one lane say nothing of another', () => {
    const { events, visit, learn } = memory({});
    learn(30);
    for (let n = 0; n < 20; n++) visit(shop.path(n), block.blocked(n), {}, 'other.test');
    assert.equal(events.length, 0);
  });
});

test('a marker that is only reported is told, and the reply is good', () => {
  const { events, visit } = memory({ markers: 'report' });
  assert.equal(visit('/p/1', page(CHALLENGE)).fault, 'none');
  const [event] = events;
  assert.ok(event?.type === 'suspicious_reply');
  assert.equal(event.sign, 'cloudflare-challenge');
  assert.equal(event.enforced, false);
});

describe('over a restart', () => {
  test('what was learned is taken back', () => {
    const before = memory({});
    before.learn(30);
    const saved: unknown = JSON.parse(JSON.stringify(before.pages.snapshot()));
    const { pages, events, visit } = memory({});
    pages.restore(saved);
    assert.deepEqual(pages.snapshot(), before.pages.snapshot());
    visit(shop.path(40), block.blocked(0));
    visit(shop.path(41), block.blocked(1));
    assert.ok(types(events).includes('suspicious_reply'));
  });

  test('what cannot be read is as if nothing had been saved', () => {
    const { pages } = memory({});
    for (const saved of [
      undefined,
      null,
      1,
      {},
      { lanes: 'x' },
      { lanes: [null, ['a'], [1, {}]] },
    ]) {
      pages.restore(saved);
    }
    assert.ok(pages.snapshot().lanes.every(([, { patterns }]) => patterns.length === 0));
  });

  test('lanes are bounded', () => {
    const { pages, visit } = memory({});
    for (let n = 0; n < 600; n++) visit('/p/1', page('<html></html>'), {}, `lane${n}`);
    const { lanes } = pages.snapshot();
    assert.equal(lanes.length, 500);
    assert.equal(lanes.at(-1)?.[0], 'lane599');
  });
});
