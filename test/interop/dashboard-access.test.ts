import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { AdminCaller } from '../support/admin.ts';
import { type BrowserPage, openPage, until } from '../support/browser.ts';
import { dashboardWorld } from '../support/dashboard-world.ts';
import { letterOf } from '../support/letters.ts';

const LIMIT = { timeout: 90_000 };
const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** A world with something of everything, and the address of each view of it. */
async function world(t: TestContext, size?: { width: number; height: number }) {
  const made = await dashboardWorld(t);
  const { asks, mood, dashboard } = made;
  await asks('shop.test', '/', { 'Forbear-Session': 'cart-7' });
  const exchange = String((await asks('shop.test')).headers['forbear-exchange'] ?? '');
  mood.status = 500;
  const letter = letterOf(await asks('news.test', `/${'long-name/'.repeat(30)}`));
  const { page, faults } = await openPage(t, dashboard, size);
  t.after(() => assert.deepEqual(faults, []));
  await page.waitForSelector('#connection[data-kind="live"]');
  await page.waitForSelector('tr[data-key="shop.test"]');
  const admin = new AdminCaller(made.adminPort);
  const [route] = (await admin.get('/routes')).json.items;
  const [session] = (await admin.get('/sessions')).json.items;
  const views = [
    ...['lanes', 'exchanges?state=all', 'routes', 'sessions', 'dead-letters', 'spend', 'events'],
    ...['lanes/shop.test', `exchanges/${exchange}?state=all`, `routes/${route.id}`],
    ...[`sessions/${encodeURIComponent(session.id)}`, `dead-letters/${letter}`],
  ];
  return { ...made, page, views, letter };
}

/** What axe has against the page as it is. A dialog leaves little else to look at: fewer rules apply. */
async function violations(page: BrowserPage, leastRules = 20): Promise<readonly string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(`${AXE}; undefined`);
  const { passed, found } = await page.evaluate<{ passed: number; found: string[] }>(
    `axe.run(document).then(({ passes, violations }) => ({
      passed: passes.length,
      found: violations.map(({ id, nodes }) => id + ': ' + nodes.map((node) => node.html.slice(0, 200)).join(' | ')),
    }))`,
  );
  assert.ok(passed >= leastRules, `axe has looked at ${passed} rules only`);
  return found;
}

/** Opens a view by its address, and waits until it shows what it is for. */
async function show(page: BrowserPage, dashboard: string, view: string): Promise<void> {
  await page.goto(`${dashboard}#/${view}`);
  if (view.includes('/')) await page.waitForSelector('.panel:not([hidden])');
  else if (view !== 'events') await page.waitForSelector('tr[data-key]');
}

for (const colorScheme of ['light', 'dark'] as const) {
  test(`axe finds nothing against any view when it is ${colorScheme}`, LIMIT, async (t) => {
    const { page, views, dashboard } = await world(t);
    await page.emulateMedia({ colorScheme });
    for (const view of views) {
      await show(page, dashboard, view);
      assert.deepEqual(await violations(page), [], view);
    }
    await page.click('.panel button.danger');
    await page.waitForSelector('dialog');
    assert.deepEqual(await violations(page, 12), [], 'the question');
  });
}

/** What of a list reaches over its right edge, or is cut off below its row. */
const STICKING_OUT = `[...document.querySelectorAll('.grid:not(:has(~ .panel:not([hidden]))) tr[data-key] td')]
  .filter((cell) => cell.offsetParent !== null && cell.textContent !== '')
  .filter((cell) => {
    const row = cell.parentElement.getBoundingClientRect();
    const { right, bottom } = cell.getBoundingClientRect();
    return right > row.right + 1 || bottom > row.bottom + 1 || row.right > innerWidth;
  })
  .map((cell) => cell.className + ': ' + cell.textContent.slice(0, 60))`;

test(
  'in a window of 360 px nothing sticks out, every row names its figures, and everything can be reached',
  LIMIT,
  async (t) => {
    const { page, views, dashboard } = await world(t, { width: 360, height: 640 });
    for (const view of views) {
      await show(page, dashboard, view);
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      assert.ok(width <= 360, `${view} is ${width} px wide`);
      assert.deepEqual(await page.evaluate(STICKING_OUT), [], view);
      assert.deepEqual(await violations(page), [], view);
      const height = await page.evaluate<number>(
        `(document.querySelector('.panel:not([hidden])') ?? document.querySelector('.grid')).getBoundingClientRect().height`,
      );
      assert.ok(height >= 120, `${view} has ${height} px for what it is for`);
    }
    await page.click('.panel button:text-is("Drop")');
    assert.deepEqual(await violations(page, 12), [], 'the question');
    await page.click('dialog button:text-is("Drop")');
    await until(page, `document.querySelector('.notice').textContent.includes('1 letter dropped')`);
  },
);

/** Somebody who has no mouse: what has the focus, and the way to something by Tab, where it must be seen to be. */
function fingers(page: BrowserPage) {
  const focused = () =>
    page.evaluate<string>(
      `(document.activeElement.dataset.key ?? document.activeElement.textContent).trim()`,
    );
  const tabTo = async (text: string) => {
    for (let i = 0; i < 60; i += 1) {
      await page.keyboard.press('Tab');
      const outline = await page.evaluate<string>(
        'getComputedStyle(document.activeElement).outlineStyle',
      );
      if ((await focused()) === text) return assert.equal(outline, 'solid', text);
    }
    assert.fail(`no way to ${text} by Tab`);
  };
  return { focused, tabTo };
}

test(
  'everything goes with the keyboard alone, and the focus is always somewhere to be seen',
  LIMIT,
  async (t) => {
    const { page, asks, mood } = await world(t);
    mood.status = 200;
    await asks('maps.test');
    await page.waitForSelector('tr[data-key="maps.test"]');
    const { keyboard } = page;
    const { focused, tabTo } = fingers(page);
    await keyboard.press('Tab');
    assert.equal(await focused(), 'Skip to the content');
    await keyboard.press('Enter');
    assert.equal(await page.evaluate('document.activeElement.id'), 'main');
    const rows = await page.evaluate<string[]>(
      `[...document.querySelectorAll('tr[data-key]')].map((row) => row.dataset.key)`,
    );
    assert.equal(rows.length, 3);
    await tabTo(rows[0] ?? '');
    const steps = [
      ['ArrowDown', 1],
      ['ArrowDown', 2],
      ['ArrowDown', 2],
      ['ArrowUp', 1],
      ['End', 2],
      ['Home', 0],
    ] as const;
    for (const [key, place] of steps) {
      await keyboard.press(key);
      assert.equal(await focused(), rows[place], key);
    }
    await keyboard.press('Enter');
    await until(page, `document.activeElement.tagName === 'H2'`);
    assert.equal(await focused(), rows[0]);
    await tabTo('Isolate');
    await keyboard.press('Enter');
    assert.equal(await focused(), 'Cancel');
    await keyboard.press('Escape');
    assert.equal(await focused(), 'Isolate');
    await keyboard.press('Enter');
    await tabTo('Isolate');
    await keyboard.press('Enter');
    await until(page, `document.querySelector('.notice').textContent.includes('is isolated')`);
    // What was "Isolate" is "Resume" now, and the focus has stayed there.
    await until(page, `document.activeElement.textContent === 'Resume'`);
    await keyboard.press('Escape');
    assert.equal(await focused(), rows[0]);
  },
);

test('a dead letter is found, marked and redriven with the keyboard alone', LIMIT, async (t) => {
  const { page, letter } = await world(t);
  const { keyboard } = page;
  const { focused, tabTo } = fingers(page);
  await tabTo('Dead letters');
  await keyboard.press('Enter');
  await until(page, `document.activeElement.tagName === 'H1'`);
  assert.equal(await focused(), 'Dead letters');
  await page.waitForSelector(`tr[data-key="${letter}"]`);
  await tabTo(letter);
  await keyboard.press('Space');
  await until(page, `document.querySelector('.tools').textContent.includes('1 marked')`);
  assert.equal(await page.evaluate(`document.querySelector('td input').checked`), true);
  await tabTo('Redrive marked');
  await keyboard.press('Enter');
  await page.waitForSelector('dialog');
  assert.equal(await page.evaluate('document.activeElement.type'), 'checkbox');
  await tabTo('Redrive');
  await keyboard.press('Enter');
  await until(
    page,
    `/redrive has begun/.test(document.querySelector('[role="status"]:is(.notice *)').textContent)`,
  );
  await until(page, `!document.querySelector('.tools').textContent.includes('1 marked')`);
});

test('what is in sight is named for those who cannot see it', LIMIT, async (t) => {
  const { page } = await world(t);
  const found = await page.evaluate<Record<string, unknown>>(`({
    landmarks: ['header', 'nav', 'main'].map((name) => document.querySelectorAll(name).length),
    headings: [...document.querySelectorAll('h1')].map((heading) => heading.textContent),
    current: document.querySelector('[aria-current]').textContent,
    polite: document.querySelectorAll('[aria-live="polite"]').length,
    rowcount: document.querySelector('[role="grid"]').getAttribute('aria-rowcount'),
    rows: [...document.querySelectorAll('tr[data-key]')].map((row) => row.getAttribute('aria-rowindex')),
    sorted: document.querySelector('[aria-sort]').textContent,
    charts: [...document.querySelectorAll('td .chart')].map((chart) => chart.getAttribute('aria-label')),
  })`);
  const { charts, ...rest } = found;
  assert.deepEqual(rest, {
    landmarks: [1, 1, 1],
    headings: ['Lanes'],
    current: 'Lanes',
    polite: 3,
    rowcount: '3',
    rows: ['2', '3'],
    sorted: 'State',
  });
  for (const text of charts as string[])
    assert.match(text, /^(no traffic yet|success .*, retries .*)$/);
});
