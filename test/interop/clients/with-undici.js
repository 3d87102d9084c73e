// Fetches each URL with undici's EnvHttpProxyAgent; one JSON line per URL.
import { EnvHttpProxyAgent, fetch } from 'undici';
import { report } from './report.js';

const dispatcher = new EnvHttpProxyAgent();
for (const url of process.argv.slice(2)) {
  const reply = await fetch(url, { dispatcher });
  report(url, reply.status, Buffer.from(await reply.arrayBuffer()));
}
await dispatcher.close();
