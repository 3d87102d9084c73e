import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startBrowser } from '../support/browser.ts';
import { send, site } from '../support/letters.ts';
import { startProxy } from '../support/whole-proxy.ts';

test('a browser that reads the exported archive shows the stored replies as if the site were there', {
  timeout: 60_000,
}, async (t) => {
  let isUp = false;
  const far = await site(t, ({ url, body }, response) => {
    if (!isUp) return void response.writeHead(500).end('down');
    response.setHeader('Content-Type', 'text/html; charset=utf-8');
    response.end(`<title>Päge of ${url}</title><p>${body.length} bytes`);
  });
  const { port, proxy, adminPort } = await startProxy(
    t,
    ['policy: { max_attempts: 1, dead_letters: { max_redrives: 0 } }'],
    { admin: true },
  );
  const page = `${far.url}/page?q=1&q=%C3%A4`;
  const form = `${far.url}/form`;
  await send(port, page, { method: 'GET' });
  await send(port, form, {
    method: 'PUT',
    body: Buffer.from([0, 255, 10, 13, 128]),
    headers: { 'Content-Type': 'application/octet-stream' },
  });
  isUp = true;
  assert.deepEqual(await proxy.deadLetters.redrive({ kind: 'all' }), { done: 2 });
  const api = `http://127.0.0.1:${adminPort}/api/v1/dead-letters`;
  const archive = await (await fetch(`${api}/export?format=har&with_secrets=true`)).text();
  const folder = mkdtempSync(join(tmpdir(), 'forbear-har-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'letters.har');
  writeFileSync(file, archive);
  // From here on there is no site: what is shown is out of the archive.
  const sites = far.seen.length;

  const browser = await startBrowser();
  t.after(() => browser.close());
  const context = await browser.newContext({ viewport: { width: 800, height: 600 } });
  await context.routeFromHAR(file, { notFound: 'abort' });
  const tab = await context.newPage();
  await tab.goto(page);
  assert.equal(await tab.evaluate('document.title'), 'Päge of /page?q=1&q=%C3%A4');
  const put = `fetch('/form', { method: 'PUT', body: new Uint8Array([0, 255, 10, 13, 128]),
    headers: { 'Content-Type': 'application/octet-stream' } }).then((reply) => reply.text())`;
  assert.equal(await tab.evaluate(put), '<title>Päge of /form</title><p>5 bytes');
  assert.equal(far.seen.length, sites);
});
