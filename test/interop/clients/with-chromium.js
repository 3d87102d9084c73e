// Opens each URL in Chromium, one after the other; one JSON line per URL.
import { withChromium } from './chromium.js';
import { report } from './report.js';

await withChromium(async (browser) => {
  const page = await browser.newPage();
  for (const url of process.argv.slice(2)) {
    const reply = await page.goto(url);
    report(url, reply.status(), await reply.body());
  }
});
