// Fetches all URLs at once with Node's own fetch; one JSON line per URL.
import { report } from './report.js';

await Promise.all(
  process.argv.slice(2).map(async (url) => {
    const reply = await fetch(url);
    report(url, reply.status, Buffer.from(await reply.arrayBuffer()));
  }),
);
