// Fetches all URLs at once with got; one JSON line per URL.
import got from 'got';
import { report } from './report.js';

await Promise.all(
  process.argv.slice(2).map(async (url) => {
    const options = { responseType: 'buffer', throwHttpErrors: false, retry: { limit: 0 } };
    const reply = await got(url, options);
    report(url, reply.statusCode, reply.body);
  }),
);
