import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { adminDesk, laneSight, noticed } from '../support/admin-desk.ts';
import { type BrowserPage, openPage, until } from '../support/browser.ts';

const LIMIT = { timeout: 60_000 };

const says = (page: BrowserPage, text: string) =>
  until(page, `document.querySelector('tbody').textContent.includes(${JSON.stringify(text)})`);

/** A way to a port that can be cut and mended, towards another one if need be. */
async function relay(t: TestContext, first: number) {
  let to = first;
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
  const mend = (next = to) => {
    to = next;
    return open(port);
  };
  return { port, cut, mend };
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

test(
  'a proxy that was started anew is shown as it is: what the old one knew is gone',
  LIMIT,
  async (t) => {
    const old = await adminDesk(t);
    old.lanes.push(laneSight('old.test', { state: 'isolated' }));
    const status = { ...old.facts(), startedAt: old.clock.now() + 60_000, version: '1.2.4' };
    const anew = await adminDesk(t, { ports: { status: () => status } });
    anew.lanes.push(laneSight('new.test'));
    const way = await relay(t, old.port);
    const { page } = await openPage(t, `http://127.0.0.1:${way.port}/`);
    await page.waitForSelector('tr[data-key="old.test"]');
    await way.cut();
    await page.waitForSelector('#connection[data-kind="lost"]');
    await way.mend(anew.port);
    // It may have come back by itself by now.
    await page.evaluate(
      `[...document.querySelectorAll('button')].find((one) => one.textContent === 'Try now')?.click()`,
    );
    await page.waitForSelector('tr[data-key="new.test"]');
    await page.waitForSelector('tr[data-key="old.test"]', { state: 'hidden' });
    await until(page, `document.querySelector('#process').textContent.includes('1.2.4')`);
    await until(page, `document.title === 'Lanes · Forbear'`);
    anew.emit(noticed('first word of the new one'));
    await page.click('nav a:text-is("Events")');
    await says(page, 'first word of the new one');
  },
);

test('troubles are read out, and no more often than one can listen', LIMIT, async (t) => {
  const { port, emit } = await adminDesk(t);
  const { page, faults } = await openPage(t, 'about:blank');
  await page.clock.install();
  await page.goto(`http://127.0.0.1:${port}/`);
  await page.waitForSelector('#connection[data-kind="live"]');
  const open = (lane: string) =>
    emit({ type: 'breaker_changed', at: 0, lane, state: 'open', untilAt: 1 });
  const read = (text: string) =>
    until(page, `document.querySelector('#announcer').textContent === ${JSON.stringify(text)}`);
  open('one.test');
  await read('Breaker of one.test is open.');
  for (const lane of ['two.test', 'three.test']) open(lane);
  emit(noticed('nothing that anybody must hear'));
  await page.click('nav a:text-is("Events")');
  await says(page, 'nothing that anybody must hear');
  await read('Breaker of one.test is open.');
  await page.clock.fastForward(11_000);
  open('four.test');
  await read('Breaker of four.test is open. Since the last word 2 more.');
  assert.equal(await page.evaluate(`document.querySelector('#announcer').ariaLive`), 'polite');
  assert.deepEqual(faults, []);
});
