import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newPageMemory, readPageMemory } from '../src/core/page-memory.ts';
import { Crawl, measureBlock, measureHonest, measureRedesign } from './support/crawl.ts';
import { BLOCKS, beforeRedesign, HONEST_SITES, redesigned } from './support/crawled-site.ts';
import { page } from './support/judging.ts';

const CRAWLS = 2;
const LENGTH = 750;
const shop = HONEST_SITES[0]!;

test('of honest replies fewer than one in a thousand is suspected', () => {
  let replies = 0;
  const suspected: string[] = [];
  for (const site of HONEST_SITES) {
    const result = measureHonest(site, CRAWLS, LENGTH);
    replies += result.replies;
    suspected.push(...result.suspected.map((why) => `${site.name}: ${why}`));
  }
  assert.ok(suspected.length / replies < 0.001, suspected.join('\n'));
});

describe('a crawler that is found out sees within five replies that it got', () => {
  for (const site of BLOCKS) {
    test(site.name, () => {
      for (const start of [0, 700]) {
        const { foundAfter, seen } = measureBlock(site, { start, before: 60, after: 60 });
        assert.ok(foundAfter !== undefined && foundAfter <= 5, `found after ${foundAfter}`);
        assert.ok(seen >= 55, `and still after many: ${seen} of 60`);
      }
    });
  }
});

describe('a new look of the site', () => {
  test('is let go within 20 replies, and told once', () => {
    for (const start of [0, 900]) {
      const { letGoAfter, told } = measureRedesign(start);
      assert.ok(letGoAfter > 0 && letGoAfter <= 20, `${letGoAfter}`);
      assert.equal(told, 1);
    }
  });

  test('is let go sooner on other kinds of pages, and not told again', () => {
    const crawl = new Crawl();
    for (let n = 0; n < 60; n++) {
      crawl.suspects(`/p/${n}`, beforeRedesign(n));
      crawl.suspects(`/q/${n}`, beforeRedesign(n + 5000));
    }
    const first = Array.from({ length: 20 }, (_, n) =>
      crawl.step({ path: `/p/${n + 60}`, reply: redesigned(n + 60) }),
    );
    const second = Array.from({ length: 20 }, (_, n) =>
      crawl.step({ path: `/q/${n + 60}`, reply: redesigned(n + 5060) }),
    );
    const suspected = (steps: typeof first) =>
      steps.filter(({ suspicion }) => suspicion?.suspicious).length;
    assert.equal(first.filter(({ changed }) => changed).length, 1);
    assert.equal(second.filter(({ changed }) => changed).length, 0);
    assert.ok(suspected(second) < suspected(first));
  });

  test('is none when one route alone gets it', () => {
    const crawl = new Crawl();
    for (let n = 0; n < 60; n++) crawl.suspects(`/p/${n}`, beforeRedesign(n));
    for (let n = 60; n < 160; n++) {
      const odd = n % 2 === 1;
      const reply = odd ? redesigned(n) : beforeRedesign(n);
      const { changed } = crawl.step({ path: `/p/${n}`, reply, route: odd ? 'sick' : 'well' });
      assert.ok(!changed);
    }
  });

  test('is none when it is the same document everywhere', () => {
    const block = BLOCKS[0]!;
    const crawl = new Crawl();
    for (let n = 0; n < 60; n++) crawl.suspects(block.path(n), block.reply(n));
    for (let n = 60; n < 300; n++) {
      const route = `r${n % 4}`;
      const step = crawl.step({ path: block.path(n), reply: block.blocked(n), route });
      assert.ok(!step.changed);
    }
    assert.ok(crawl.suspects(block.path(300), block.blocked(300)));
    assert.ok(!crawl.suspects(block.path(301), block.reply(301)), 'the good page is good still');
  });
});

describe('what is remembered', () => {
  const crawled = () => {
    const crawl = new Crawl();
    for (let n = 0; n < 1000; n++) {
      for (const k of [0, 1, 2]) {
        const words = `w${n} `.repeat(5);
        const html = `<html><title>${words}${k} | A site with a long name of many words</title>${k}</html>`;
        crawl.suspects(`/${letters(n)}/${n}-${k}`, page(html));
      }
    }
    return crawl;
  };

  test('stays below 64 KiB for a lane of 1000 path patterns', () => {
    const bytes = Buffer.byteLength(JSON.stringify(crawled().memory));
    assert.ok(bytes <= 64 * 1024, `${bytes} bytes`);
  });

  test('stays below 64 KiB when everything about it is as long as can be', () => {
    const crawl = crawled();
    const worst = crawl.memory.patterns[0]!;
    const usual = {
      ...worst.usual,
      words: Array.from({ length: 5 }, (_, i) => [`wwwwww${i}`, 0.975] as const),
      docs: ['d'.repeat(31), 'e'.repeat(31), 'f'.repeat(31)],
      items: 5.555,
      size: 10.123,
      spread: 1.234,
      alike: 0.123,
    };
    const pattern = { ...worst, usual, next: usual, via: ['aaaaaaa', 'bbbbbbb', 'ccccccc'] };
    const memory = { ...crawl.memory, patterns: crawl.memory.patterns.map(() => pattern) };
    assert.ok(Buffer.byteLength(JSON.stringify(memory)) <= 64 * 1024);
  });

  test('goes through JSON unchanged', () => {
    const crawl = new Crawl();
    for (let n = 0; n < 40; n++) crawl.suspects(shop.path(n), shop.reply(n));
    assert.deepEqual(readPageMemory(JSON.parse(JSON.stringify(crawl.memory))), crawl.memory);
  });

  test('is nothing when what was saved is not whole', () => {
    const crawl = new Crawl();
    for (let n = 0; n < 20; n++) crawl.suspects(shop.path(n), shop.reply(n));
    const { memory } = crawl;
    const pattern = memory.patterns[0]!;
    const broken: readonly unknown[] = [
      undefined,
      null,
      'x',
      {},
      { ...memory, version: 2 },
      { ...memory, recent: [1] },
      { ...memory, patterns: [{ ...pattern, key: 1 }] },
      { ...memory, patterns: [{ ...pattern, usual: { ...pattern.usual, size: null } }] },
      { ...memory, patterns: [{ ...pattern, next: {} }] },
      { ...memory, patterns: Array.from({ length: 1000 }, () => pattern) },
    ];
    for (const saved of broken) assert.deepEqual(readPageMemory(saved), newPageMemory);
  });
});

/** A path segment of its own for each number, without digits. */
function letters(n: number): string {
  return [...String(n)].map((digit) => 'abcdefghij'[Number(digit)]).join('');
}
