import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { AdminPorts } from '../../src/admin/views.ts';
import { adminDesk, laneSight, noLetters, noticed, routeSight } from '../support/admin-desk.ts';
import { exchangeTo } from '../support/attempts.ts';
import { type BrowserPage, openPage, until } from '../support/browser.ts';
import { policyWith } from '../support/policy.ts';

const LIMIT = { timeout: 90_000 };
type Letters = AdminPorts['deadLetters'];
type Letter = NonNullable<Awaited<ReturnType<Letters['get']>>>;

const HOSTILE = [
  '<img src=x onerror="window.hacked=1">',
  '"><script>window.hacked=2</script>',
  'javascript:window.hacked=3',
  "';window.hacked=4;//",
  'bank.test\u202Emoc.live',
  'two\nlines\r\nand a \u0000 nought',
  '__proto__',
  'constructor',
  '../../../dead-letters',
  '%00%2e%2e%2f?state=all#/events',
  '\ud800 half a pair',
  `${'very-long-'.repeat(1_000)}`,
];
const [IMG = ''] = HOSTILE;
const AT = '2026-01-01T00:00:00.000Z';

/** A letter all of whose words are the same. */
const letterOf = (word: string, i: number): Letter => ({
  ...{ id: `letter-${i}`, state: 'needs_client', lane: word, host: word, reason: word, stop: null },
  ...{ fault: null, count: 1, client: word, session: word, method: word, url: word },
  ...{ headers: [[word, word]], trailers: [], body: { kept: false, bytes: 0 } },
  ...{ secrets_blanked: true, needs: null, parked_at: AT, updated_at: AT, due_at: AT },
  ...{ keep_until: AT, redrives: 0, response: null },
  attempts: [
    {
      ...{ n: 1, at: AT, duration_ms: 5, route: word, status: 500, verdict: word, action: 'fail' },
      ...{ explain: word, sent_bytes: 1, received_bytes: 1 },
    },
  ],
});

/** Everything that has a name has a hostile one. */
async function hostileDesk(t: TestContext) {
  const letters = HOSTILE.map(letterOf);
  const routes = HOSTILE.map((name) => routeSight(name, { label: name, upstream: name }));
  const terms = policyWith().sessions;
  const lease = { life: 0, createdAt: 0, lastUsedAt: 0, terms };
  const sessions = HOSTILE.map((id) => ({
    ...{ id, label: id },
    session: { ...lease, state: 'active' as const, upstream: id, routeId: id, country: id },
  }));
  const reputation = (id: string) =>
    HOSTILE.map((lane) => ({
      ...{ lane: lane + id, good: 1, bad: 0, score: 1, headMs: null, ejection: undefined },
    }));
  const sign = { signal: 'retry' as const, before: 0, now: 1, since: 0, badRoutes: 1, routes: 1 };
  const desk = await adminDesk(t, {
    ports: {
      routes: {
        list: () => ({
          upstreams: HOSTILE.map((name) => ({ name, kind: 'list', outUntil: undefined })),
          ...{ routes, sessions },
        }),
        ...{ eject: () => false, restore: () => false, endSession: () => false, reputation },
      },
      deadLetters: {
        ...noLetters,
        list: async () => ({ items: letters, next: undefined }),
        get: async (id) => letters.find((one) => one.id === id),
      },
      spend: () => ({ since: AT, upstreams: [], lanes: HOSTILE.map(spendOf) }),
      warnings: () => HOSTILE.map((lane) => ({ ...sign, lane, sentence: lane })),
    },
  });
  for (const name of HOSTILE) desk.lanes.push(laneSight(name, { host: name }));
  return desk;
}

const NO_BYTES = { first_try: 0, retry: 0, rejected_body: 0, tunnel: 0 };
const spendOf = (name: string) => ({
  ...{ name, price: 1, price_per_good_reply: 1, good_replies: 1 },
  ...{ sent_bytes: 1, received_bytes: 1, bytes_by_cause: NO_BYTES, price_by_cause: NO_BYTES },
});

/** All that must not be, wherever the page is: what has run, markup made of a name, text that hides or turns around. */
const WRONG = `(() => {
  const made = 'main img, main script, main iframe, dialog img, dialog script, [onerror], a[href^="javascript"]';
  const named = [...document.querySelectorAll('[title], [aria-label]')];
  const texts = [document.body.innerText, ...named.map((one) => one.title + one.ariaLabel)];
  return {
    hacked: window.hacked ?? null,
    made: document.querySelectorAll(made).length,
    tooWide: document.documentElement.scrollWidth > 1280,
    unseen: texts.flatMap((text) => text.match(/.{0,20}[\\u202e\\0\\ud800].{0,20}/) ?? []),
  };
})()`;

async function check(page: BrowserPage, where: string): Promise<void> {
  const nothing = { hacked: null, made: 0, tooWide: false, unseen: [] };
  assert.deepEqual(await page.evaluate(WRONG), nothing, where);
}

test(
  'names of sites and clients are text, whatever is in them and wherever they are shown',
  LIMIT,
  async (t) => {
    const { port, emit } = await hostileDesk(t);
    const { page, faults } = await openPage(t, `http://127.0.0.1:${port}/`);
    await page.waitForSelector('#connection[data-kind="live"]');
    for (const [i, name] of HOSTILE.entries()) {
      emit(noticed(name));
      const exchange = {
        ...exchangeTo({ host: name, port: 80 }, { method: name, path: `/${name}` }),
      };
      const client = { name, address: '127.0.0.1' };
      emit({
        type: 'exchange_started',
        at: 0,
        exchange: { ...exchange, id: `x${i}`, client, session: name },
      });
    }
    await until(page, `document.querySelectorAll('.warnings li').length > 1`);
    for (const view of [
      'lanes',
      'routes',
      'sessions',
      'dead-letters',
      'exchanges',
      'spend',
      'events',
    ]) {
      await page.click(`nav a[href="#/${view}"]`);
      if (view === 'exchanges') await page.selectOption('.tools select', 'all');
      await until(page, `document.querySelectorAll('tr[data-key]').length >= ${HOSTILE.length}`);
      await until(page, `document.querySelector('tbody').textContent.includes('window.hacked=')`);
      await check(page, view);
      const keys = await page.evaluate<string[]>(
        `[...document.querySelectorAll('tr[data-key]')].map((row) => row.dataset.key).slice(0, ${HOSTILE.length})`,
      );
      for (const key of view === 'spend' ? [] : keys) {
        await page.evaluate(
          `[...document.querySelectorAll('tr[data-key]')].find((row) => row.dataset.key === ${JSON.stringify(key)})?.click()`,
        );
        // A path cannot say half a pair: there are no details of it.
        if (key.isWellFormed()) await page.waitForSelector('.panel');
        await check(page, `${view} ${key.slice(0, 40)}`);
      }
    }
    assert.deepEqual(faults, []);
  },
);

test(
  'a question that names something hostile names it as text, and so does what is told afterwards',
  LIMIT,
  async (t) => {
    const { port } = await hostileDesk(t);
    const { page, faults } = await openPage(t, `http://127.0.0.1:${port}/`);
    const asks = [
      ['lanes', 'Isolate'],
      ['routes', 'Eject'],
      ['sessions', 'End'],
    ] as const;
    for (const [view, verb] of asks) {
      await page.goto(`http://127.0.0.1:${port}/#/${view}/${encodeURIComponent(IMG)}`);
      await page.click(`.panel button:text-is("${verb}")`);
      await until(
        page,
        `document.querySelector('#ask-text').textContent.includes(${JSON.stringify(IMG)})`,
      );
      await check(page, `${view}: the question`);
      await page.click(`dialog button:text-is("${verb}")`);
      await page.waitForSelector('.notice:not([hidden])');
      await check(page, `${view}: the notice`);
    }
    assert.deepEqual(faults, []);
  },
);
