import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { adminDesk, laneSight, noticed, routeSight } from '../support/admin-desk.ts';
import { type BrowserPage, openPage, until } from '../support/browser.ts';

const LIMIT = { timeout: 60_000 };

const says = (page: BrowserPage, text: string) =>
  until(page, `document.querySelector('tbody').textContent.includes(${JSON.stringify(text)})`);

/** A way to a port that can be cut and mended. */
async function relay(t: TestContext, to: number) {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(to, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far).pipe(near);
  });
  const open = async (port: number) => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const port = await open(0);
  const cut = async () => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  t.after(async () => {
    if (server.listening) await cut();
  });
  return { port, cut, mend: () => open(port) };
}

test(
  'what changes is seen without a reload: lanes that come, change and go, and events',
  LIMIT,
  async (t) => {
    const { lanes, port, clock, emit } = await adminDesk(t);
    const { page, faults } = await openPage(t, `http://127.0.0.1:${port}/`);
    await page.waitForSelector('#connection[data-kind="live"]');
    lanes.push(laneSight('shop.test', { state: 'active', inFlight: 1 }));
    await clock.advance(1_000);
    await says(page, 'shop.test');
    const pausedUntil = Date.now() + 90_500;
    lanes[0] = laneSight('shop.test', { state: 'paused', pausedUntil, waiting: 7, rate: 2.5 });
    await clock.advance(1_000);
    await says(page, 'paused');
    const before = await page.textContent('.c-until:not(th)');
    assert.match(String(before), /^(8\d|9\d) s$/);
    await until(
      page,
      `document.querySelector('td.c-until').textContent !== ${JSON.stringify(before)}`,
    );
    assert.equal(await page.textContent('td.c-rate'), '2.5 /s');
    assert.equal(await page.evaluate('document.title'), '(1) Lanes · Forbear');
    lanes.pop();
    await clock.advance(1_000);
    await page.waitForSelector('tr[data-key="shop.test"]', { state: 'hidden' });
    emit(noticed('something has happened'));
    await page.click('nav a:text-is("Events")');
    await says(page, 'something has happened');
    emit(noticed('and something more'));
    await says(page, 'and something more');
    assert.deepEqual(faults, []);
  },
);

test(
  'a page that is cut off says since when, comes back by itself, and has missed nothing',
  LIMIT,
  async (t) => {
    const { lanes, port, emit } = await adminDesk(t);
    const way = await relay(t, port);
    const { page } = await openPage(t, `http://127.0.0.1:${way.port}/#/events`);
    await page.waitForSelector('#connection[data-kind="live"]');
    emit(noticed('before the cut'));
    await says(page, 'before the cut');
    await way.cut();
    await page.waitForSelector('#connection[data-kind="lost"]');
    assert.match(String(await page.textContent('.stale')), /Disconnected since .* Trying again/);
    emit(noticed('during the cut'));
    lanes.push(laneSight('meanwhile.test'));
    await way.mend();
    await page.waitForSelector('#connection[data-kind="live"]');
    await says(page, 'during the cut');
    await says(page, 'before the cut');
    await page.waitForSelector('.stale', { state: 'hidden' });
    await page.click('nav a:text-is("Lanes")');
    await says(page, 'meanwhile.test');
  },
);

test('a token is asked for, kept for the tab only, and sent with the stream', LIMIT, async (t) => {
  const { lanes, port } = await adminDesk(t, { token: 's3cret' });
  lanes.push(laneSight('shop.test'));
  const { page, faults } = await openPage(t, `http://127.0.0.1:${port}/`);
  await page.waitForSelector('.login');
  assert.equal(await page.evaluate('document.activeElement.type'), 'password');
  assert.doesNotMatch(String(await page.textContent('body')), /shop\.test/);
  await page.keyboard.type('wrong');
  await page.keyboard.press('Enter');
  await until(page, `document.querySelector('.trouble').textContent === 'That is not the token.'`);
  await page.fill('.login input', 's3cret');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#connection[data-kind="live"]');
  await says(page, 'shop.test');
  await page.reload();
  await page.waitForSelector('#connection[data-kind="live"]');
  await says(page, 'shop.test');
  assert.equal(await page.evaluate('JSON.stringify(localStorage).includes("s3cret")'), false);
  assert.equal(await page.evaluate('location.href.includes("s3cret")'), false);
  assert.deepEqual(faults, []);
});

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

test('names of sites and clients are text, whatever is in them', LIMIT, async (t) => {
  const { lanes, routes, port, emit } = await adminDesk(t, {
    ports: {
      routes: {
        list: () => ({
          upstreams: HOSTILE.map((name) => ({ name, kind: 'list', outUntil: undefined })),
          routes,
          sessions: [],
        }),
        ...{ eject: () => false, restore: () => false, endSession: () => false },
        reputation: (id) =>
          HOSTILE.map((lane) => ({
            lane: lane + id,
            good: 1,
            bad: 0,
            score: 1,
            headMs: null,
            ejection: undefined,
          })),
      },
    },
  });
  for (const name of HOSTILE) {
    lanes.push(laneSight(name, { host: name }));
    routes.push(routeSight(name, { label: name, upstream: name }));
  }
  const { page, faults } = await openPage(t, `http://127.0.0.1:${port}/`);
  await page.waitForSelector('#connection[data-kind="live"]');
  for (const name of HOSTILE) emit(noticed(name));
  const check = async (where: string) => {
    assert.equal(await page.evaluate('window.hacked'), undefined, where);
    const strange = await page.evaluate<number>(
      `document.querySelectorAll('main img, main script, main iframe, [onerror], a[href^="javascript"]').length`,
    );
    assert.equal(strange, 0, where);
    const width = await page.evaluate<number>('document.documentElement.scrollWidth');
    assert.ok(width <= 1280, `${where} is ${width} px wide`);
    assert.doesNotMatch(await page.evaluate<string>('document.body.innerText'), /\u202e/, where);
  };
  for (const view of ['lanes', 'routes']) {
    await page.click(`nav a[href="#/${view}"]`);
    await until(page, `document.querySelectorAll('tr[data-key]').length === ${HOSTILE.length}`);
    await check(view);
    for (const name of HOSTILE) {
      await page.evaluate(
        `[...document.querySelectorAll('tr[data-key]')].find((row) => row.dataset.key === ${JSON.stringify(name)}).click()`,
      );
      // A path cannot say half a pair: there are no details of it.
      if (name.isWellFormed()) await page.waitForSelector('.panel');
      await check(`${view} ${name.slice(0, 40)}`);
    }
  }
  await page.click('nav a[href="#/events"]');
  await says(page, HOSTILE[0] ?? '');
  await check('events');
  assert.deepEqual(faults, []);
});
