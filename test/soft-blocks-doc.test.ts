import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { Config } from '../src/config/config.ts';
import { loadConfig } from '../src/config/load.ts';
import { policyFor } from '../src/config/resolve.ts';
import { classify } from '../src/core/classify.ts';
import { judgeTools } from '../src/judge-tools.ts';
import { judge, page, response, seen } from './support/judging.ts';

const text = readFileSync(new URL('../docs/soft-blocks.md', import.meta.url), 'utf8');
const examples = [...text.matchAll(/```yaml\n([\s\S]*?)```/g)].map((match) => match[1] ?? '');

function configOf(example: number): Config {
  const loaded = loadConfig({ file: undefined, text: examples[example] ?? '', env: {}, flags: {} });
  assert.equal(loaded.kind, 'ok', JSON.stringify(loaded));
  return loaded.config;
}

function verdictOf(example: number, url: string, reply: ReturnType<typeof page>): string {
  const { host, pathname, search } = new URL(url);
  const request = { method: 'GET', scheme: 'https', host, path: pathname + search } as const;
  const asked = { ...request, authority: host, client: '', profile: undefined };
  const { policy } = policyFor(configOf(example), asked);
  const verdict = classify(reply, judge({ policy, request, tools: judgeTools }));
  return `${verdict.fault}/${verdict.reason}`;
}

const json = (value: unknown) =>
  response({
    rawHeaders: ['Content-Type', 'application/json'],
    body: seen(JSON.stringify(value)),
  });

test('every example in the document loads', () => {
  assert.equal(examples.length, 5);
  for (const index of examples.keys()) configOf(index);
});

describe('the examples do what the document says', () => {
  test('a product page, and one that lacks its title', () => {
    const good = page('<html><h1 class="product-title">Pot</h1></html>');
    assert.equal(verdictOf(0, 'https://shop.example/p/1', good), 'none/ok');
    const bad = page('<html><h1>Pots for everybody</h1></html>');
    assert.equal(verdictOf(0, 'https://shop.example/p/1', bad), 'host/unexpected');
    assert.equal(verdictOf(0, 'https://shop.example/about', bad), 'none/ok');
  });

  test('a search with results, an honest empty one, and a page that is neither', () => {
    const at = (html: string) => verdictOf(0, 'https://shop.example/search?q=pot', page(html));
    assert.equal(at('<div class="result">Pot</div>'), 'none/ok');
    assert.equal(at('<p>0 results</p>'), 'none/ok');
    assert.equal(at('<p>Welcome</p>'), 'route/blocked');
  });

  test('data with a condition', () => {
    const at = (value: unknown) => verdictOf(1, 'https://api.example/v1/items?page=1', json(value));
    assert.equal(at({ status: 'ok', items: [1] }), 'none/ok');
    assert.equal(at({ status: 'busy', items: [1] }), 'host/unexpected');
    assert.equal(at({ status: 'ok', items: [] }), 'host/unexpected');
    assert.equal(at({ status: 'ok', items: [1], error: 'slow down' }), 'host/rate_limited');
  });

  test('checks inside one another', () => {
    const at = (html: string) => verdictOf(2, 'https://any.example/list/a/1', page(html));
    const full = `<li class="item">a</li>`.repeat(10);
    assert.equal(at(`${full}${' '.repeat(4096)}Next page`), 'none/ok');
    assert.equal(at(`${full}Next page`), 'host/unexpected');
    assert.equal(at('the last page'), 'none/ok');
    assert.equal(at('Please come back later'), 'host/unexpected');
  });

  test('markers of the user', () => {
    const at = (html: string, path = '/p/1', rawHeaders: readonly string[] = []) =>
      verdictOf(
        3,
        `https://any.example${path}`,
        page(html, { rawHeaders: ['Content-Type', 'text/html', ...rawHeaders] }),
      );
    const wall = '<script src="/Guard/check.js"></script>';
    assert.equal(at(wall, '/p/1', ['X-Guard', 'on']), 'route/challenged');
    assert.equal(at(wall), 'none/ok');
    const queue = '<title>You are in line</title><div data-queue="1"></div>';
    assert.equal(at(queue), 'host/rate_limited');
    assert.equal(at(queue, '/queue/status'), 'none/ok');
    assert.equal(at(`${queue}<h1 id="product">Pot</h1>`), 'none/ok');
  });

  test('learned signs are enforced for one target', () => {
    const config = configOf(4);
    const of = (host: string) =>
      policyFor(config, {
        host,
        authority: host,
        path: '/',
        method: 'GET',
        client: '',
        profile: undefined,
      }).policy.softBlocks.learned;
    assert.equal(of('shop.example'), 'enforce');
    assert.equal(of('other.example'), 'report');
    assert.equal(config.notices.length, 0);
  });
});
