// Opens each URL in Chromium with the login of the environment; one JSON line per URL, with the session it was in.
import { proxyOfEnvironment, withChromium } from './chromium.js';

// The flag that `forbear ca install-help` shows takes the place of the NSS database.
const [flag, ...urls] = process.argv.slice(2);
const trust = flag === '' ? {} : { trust: 'flag', args: [flag] };

await withChromium(
  async (browser) => {
    const page = await browser.newPage();
    for (const url of urls) {
      const line = await page.goto(url).then(seen, (error) => ({ error: error.message }));
      process.stdout.write(`${JSON.stringify({ url, ...line })}\n`);
    }
  },
  { proxy: proxyOfEnvironment(), ...trust },
);

async function seen(reply) {
  const headers = await reply.allHeaders();
  return { status: reply.status(), session: headers['forbear-session'] ?? '' };
}
