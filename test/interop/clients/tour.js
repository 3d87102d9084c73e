// Does with each site what browsers do with sites; one JSON line per site.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { proxyOfEnvironment, withChromium } from './chromium.js';

const [login, ...sites] = process.argv.slice(2);
const proxy = login === 'with-login' ? proxyOfEnvironment() : undefined;

await withChromium(
  async (browser) => {
    for (const site of sites) {
      const page = await browser.newPage();
      await page.goto(`${site}/gallery`, { waitUntil: 'load' });
      const seen = {
        url: site,
        ...(await page.evaluate(gallery)),
        events: await page.evaluate(events),
        echoes: await page.evaluate(echoes),
        uploads: await page.evaluate(uploads),
        download: await download(page),
      };
      process.stdout.write(`${JSON.stringify(seen)}\n`);
      await page.close();
    }
  },
  { proxy },
);

// What follows runs inside the page.

function gallery() {
  const pictures = [...document.images].filter((image) => image.naturalWidth === 7).length;
  const entries = performance.getEntriesByType('resource');
  const protocols = [...new Set(entries.map((entry) => entry.nextHopProtocol))];
  return { parts: globalThis.parts.length, pictures, protocols };
}

function events() {
  return new Promise((resolve) => {
    const got = [];
    const source = new EventSource('/events');
    source.onmessage = ({ data }) => {
      got.push(data);
      if (got.length < 3) fetch(`/next/${got.length + 1}`, { method: 'POST' });
      else resolve(got);
      if (got.length === 3) source.close();
    };
    source.onerror = () => resolve([...got, 'broken off']);
  });
}

function echoes() {
  const said = ['hello', 'x'.repeat(300), 'y'.repeat(100_000)];
  return new Promise((resolve) => {
    const heard = [];
    const socket = new WebSocket(`${location.origin.replace('http', 'ws')}/echo`);
    socket.onopen = () => {
      for (const each of said) socket.send(each);
    };
    socket.onmessage = ({ data }) => {
      heard.push(data === said[heard.length] ? data.length : 'something else');
      if (heard.length === said.length) socket.close();
    };
    socket.onclose = () => resolve(heard);
  });
}

async function uploads() {
  const upload = async (body) => (await fetch('/upload', { method: 'POST', body })).text();
  return [await upload('a small one'), await upload(new Blob(['big '.repeat(750_000)]))];
}

async function download(page) {
  const begun = page.waitForEvent('download');
  await page.evaluate(() => {
    location.href = '/download';
  });
  const file = await (await begun).path();
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
