import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { AdminCaller } from '../support/admin.ts';
import { type BrowserPage, openPage, until } from '../support/browser.ts';
import { dashboardWorld } from '../support/dashboard-world.ts';
import { events, letterOf } from '../support/letters.ts';

const LIMIT = { timeout: 60_000 };

async function world(t: TestContext, lines: readonly string[] = []) {
  const made = await dashboardWorld(t, lines);
  const { page, faults, writes } = await openPage(t, made.dashboard);
  await page.waitForSelector('#connection[data-kind="live"]');
  t.after(() => assert.deepEqual(faults, []));
  return { ...made, page, writes, admin: new AdminCaller(made.adminPort) };
}

/** Waits until a row of the list in sight says something. */
const row = (page: BrowserPage, name: string, says: string) =>
  until(
    page,
    `[...document.querySelectorAll('tr[data-key]')].some((row) => row.textContent.includes(${JSON.stringify(name)}) && row.textContent.includes(${JSON.stringify(says)}))`,
  );

const button = (page: BrowserPage, label: string) =>
  page.click(`.stage button:text-is("${label}"), .top button:text-is("${label}")`);

type World = Awaited<ReturnType<typeof world>>;

/** Presses a button and says no, by Cancel and by Escape: nothing is asked of the server for that. */
async function refuse({ page, writes }: World, label: string): Promise<void> {
  const before = writes.length;
  await button(page, label);
  await page.click('dialog button:text-is("Cancel")');
  await page.waitForSelector('dialog', { state: 'hidden' });
  await button(page, label);
  await page.waitForSelector('dialog');
  await page.keyboard.press('Escape');
  await page.waitForSelector('dialog', { state: 'hidden' });
  assert.deepEqual(writes.slice(before), [], label);
}

/** Refuses first, then says yes, and waits for what is told of it. */
async function act(whole: World, o: { label: string; verb: string; told: RegExp }): Promise<void> {
  await refuse(whole, o.label);
  await button(whole.page, o.label);
  await agree(whole.page, o.verb, o.told);
}

/** Says yes, and waits for what is told of it. */
async function agree(page: BrowserPage, verb: string, told: RegExp): Promise<void> {
  await page.click(`dialog button:text-is("${verb}")`);
  await until(page, `${told}.test(document.querySelector('.notice')?.textContent ?? '')`);
}

test('a lane appears with its first request, is isolated and resumed by hand', LIMIT, async (t) => {
  const whole = await world(t);
  const { page, asks } = whole;
  await asks('shop.test');
  await row(page, 'shop.test', 'idle');
  await page.click('tr[data-key="shop.test"]');
  await act(whole, { label: 'Isolate', verb: 'Isolate', told: /shop\.test is isolated/ });
  await row(page, 'shop.test', 'isolated');
  assert.equal((await asks('shop.test')).headers['forbear-stop'], 'isolated');
  await act(whole, { label: 'Resume', verb: 'Resume', told: /shop\.test is resumed/ });
  await row(page, 'shop.test', 'idle');
  assert.equal((await asks('shop.test')).status, 200);
});

test('a host that nobody asked for yet is isolated by its name', LIMIT, async (t) => {
  const whole = await world(t);
  const { page, admin } = whole;
  await refuse(whole, 'Isolate a host…');
  await button(page, 'Isolate a host…');
  await page.fill('dialog input', 'later.test');
  await agree(page, 'Isolate', /later\.test is isolated/);
  await row(page, 'later.test', 'isolated');
  assert.equal((await admin.get('/lanes/later.test')).json.state, 'isolated');
  await button(page, 'Isolate a host…');
  await page.fill('dialog input', 'no/host');
  await agree(page, 'Isolate', /A host is a name or an address/);
});

test('a route shows what lanes know of it, is ejected and restored by hand', LIMIT, async (t) => {
  const whole = await world(t);
  const { page, asks, admin, dashboard } = whole;
  for (let i = 0; i < 4; i += 1) await asks('shop.test');
  const [route] = (await admin.get('/routes')).json.items;
  await page.goto(`${dashboard}#/routes`);
  await row(page, route.label, 'in use');
  const used = await Promise.all(
    (await admin.get('/routes')).json.items.map(async ({ id }: { id: string }) => ({
      id,
      known: (await admin.get(`/routes/${encodeURIComponent(id)}/reputation`)).json.items,
    })),
  );
  const known = used.find((one) => one.known.length > 0);
  assert.deepEqual(
    known?.known.map(({ lane, good }: { lane: string; good: number }) => [lane, good > 0]),
    [
      [null, true],
      ['shop.test', true],
    ],
  );
  const { id, label } = (await admin.get('/routes')).json.items.find(
    (one: { id: string }) => one.id === known?.id,
  );
  await page.click(`tr[data-key="${id}"]`);
  await until(
    page,
    `document.querySelector('.plain')?.textContent.includes('shop.test') && document.querySelector('.plain').textContent.includes('everywhere')`,
  );
  await refuse(whole, 'Eject');
  await button(page, 'Eject');
  await page.selectOption('dialog select', '3600000');
  await agree(page, 'Eject', /is ejected/);
  await row(page, label, 'ejected');
  await row(page, label, '59 min');
  await act(whole, { label: 'Restore', verb: 'Restore', told: /is restored/ });
  await row(page, label, 'in use');
});

test('a session is ended by hand', LIMIT, async (t) => {
  const whole = await world(t);
  const { page, asks, admin, dashboard } = whole;
  await asks('shop.test', '/', { 'Forbear-Session': 'cart-7' });
  await page.goto(`${dashboard}#/sessions`);
  await row(page, 'cart-7', 'active');
  await page.click('tr[data-key*="cart-7"]');
  await act(whole, { label: 'End', verb: 'End', told: /has ended/ });
  await page.waitForSelector('tr[data-key*="cart-7"]', { state: 'hidden' });
  assert.equal((await admin.get('/sessions?state=active')).json.items.length, 0);
});

test('letters are looked at, marked, redriven and dropped', LIMIT, async (t) => {
  const whole = await world(t);
  const { page, asks, mood, dashboard, admin } = whole;
  mood.status = 500;
  const ids = [];
  for (const path of ['/a', '/b', '/c']) ids.push(letterOf(await asks('news.test', path)));
  await page.goto(`${dashboard}#/dead-letters`);
  for (const path of ['/a', '/b', '/c']) await row(page, `news.test${path}`, 'parked');
  await page.click(`tr[data-key="${ids[0]}"] .c-url`);
  await until(page, `document.querySelectorAll('.timeline li:not(.between)').length === 2`);
  mood.status = 200;
  await act(whole, { label: 'Redrive', verb: 'Redrive', told: /redrive has begun/ });
  await events(whole, 'dead_letter_redriven');
  await row(page, 'news.test/a', 'done');
  await button(page, 'Close');
  for (const id of ids.slice(1)) await page.click(`tr[data-key="${id}"] input`);
  await until(page, `document.querySelector('.view').textContent.includes('2 marked')`);
  await refuse(whole, 'Redrive marked');
  // What was marked stays so after a no.
  await act(whole, { label: 'Drop marked', verb: 'Drop', told: /2 letters dropped/ });
  for (const id of ids.slice(1)) {
    await page.waitForSelector(`tr[data-key="${id}"]`, { state: 'hidden' });
  }
  assert.equal((await admin.get('/dead-letters')).json.items.length, 1);
});

test('redrive all sends every parked letter again', LIMIT, async (t) => {
  const whole = await world(t);
  const { page, asks, mood, dashboard } = whole;
  mood.status = 500;
  for (const path of ['/a', '/b']) await asks('news.test', path);
  mood.status = 200;
  await page.goto(`${dashboard}#/dead-letters`);
  await row(page, 'news.test/a', 'parked');
  await refuse(whole, 'Redrive what is due');
  await act(whole, { label: 'Redrive all', verb: 'Redrive', told: /redrive has begun/ });
  await row(page, 'news.test/a', 'done');
  await row(page, 'news.test/b', 'done');
});

test(
  'an exchange that waits says what for and how long still, and its trail goes on',
  LIMIT,
  async (t) => {
    const { page, asks, mood, dashboard } = await world(t);
    mood.status = 503;
    await page.goto(`${dashboard}#/exchanges`);
    const asked = asks('maps.test', '/tile', { 'Forbear-Patience': '8s' });
    t.after(() => asked);
    mood.status = 429;
    await row(page, 'maps.test/tile', 'pause the site asked for');
    await page.click('tr[data-key] .c-url');
    await until(
      page,
      `document.querySelector('.facts')?.textContent.includes('still') && document.querySelectorAll('.timeline li').length >= 1`,
    );
    mood.status = 200;
    await asked;
    await until(page, `document.querySelector('.facts')?.textContent.includes('Answered')`);
  },
);

test('drain is asked for, and the page says that it is cut off', LIMIT, async (t) => {
  const whole = await world(t);
  const { page, proxy } = whole;
  await act(whole, { label: 'Drain…', verb: 'Drain', told: /It drains/ });
  await proxy.drainAsked;
  await until(page, `document.querySelector('#process').textContent.includes('draining')`);
  await proxy.stop();
  await page.waitForSelector('#connection[data-kind="lost"]');
  const banner = await page.textContent('.stale');
  assert.match(String(banner), /Disconnected since \d\d:\d\d:\d\d: what you see is of then/);
});

test('spend is shown by upstream and by lane', LIMIT, async (t) => {
  const { page, asks, dashboard } = await world(t);
  await asks('shop.test');
  await page.goto(`${dashboard}#/spend`);
  await row(page, 'exits', 'upstream');
  await row(page, 'shop.test', 'lane');
});
