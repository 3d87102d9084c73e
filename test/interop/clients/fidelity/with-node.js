// Sends requests with one of Node's clients: with-node.js CLIENT BASE…
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import axios from 'axios';
import got from 'got';
import { EnvHttpProxyAgent, request, setGlobalDispatcher } from 'undici';

const [client, ...bases] = process.argv.slice(2);

async function* pieces() {
  yield Buffer.from('one');
  yield Buffer.from('two');
}

/** By the environment in a Node that has it (NODE_USE_ENV_PROXY), for the core's own clients. */
async function withCore(base) {
  const { request: ask } = base.startsWith('https:') ? https : http;
  const talk = async (path, options, write) => {
    const asked = ask(base + path, options);
    write(asked);
    const [reply] = await once(asked, 'response');
    reply.resume();
    await once(reply, 'end');
  };
  await talk('/get?q=1', { headers: { 'X-Own': '1', 'x-lower': ['a', 'b'] } }, (asked) =>
    asked.end(),
  );
  await talk('/length', { method: 'POST', headers: { 'Content-Length': 3 } }, (asked) =>
    asked.end('abc'),
  );
  await talk('/chunked', { method: 'POST' }, (asked) => {
    asked.write('one');
    asked.end('two');
  });
  await talk('/trailers', { method: 'POST', headers: { Trailer: 'X-Sum' } }, (asked) => {
    asked.write('one');
    asked.addTrailers({ 'X-Sum': '1' });
    asked.end();
  });
}

const ways = {
  http: withCore,
  async fetch(base) {
    await (await fetch(`${base}/get?q=1`, { headers: { 'X-Own': '1' } })).text();
    await (
      await fetch(`${base}/form`, { method: 'POST', body: new URLSearchParams({ a: '1' }) })
    ).text();
    const streamed = { method: 'PUT', body: ReadableStream.from(pieces()), duplex: 'half' };
    await (await fetch(`${base}/chunked`, streamed)).text();
  },
  async undici(base) {
    // Where HTTP/2 is offered it is taken, and names go in lower case.
    setGlobalDispatcher(new EnvHttpProxyAgent({ allowH2: false }));
    await (await request(`${base}/get?q=1`, { headers: ['X-Own', '1'] })).body.text();
    await (await request(`${base}/post`, { method: 'POST', body: 'a=1' })).body.text();
    await (await request(`${base}/head`, { method: 'HEAD' })).body.text();
  },
  async axios(base) {
    await axios.get(`${base}/get`, { params: { q: 'a b' } });
    await axios.post(`${base}/json`, { a: 1 });
  },
  async got(base) {
    await got(`${base}/get?q=1`, { retry: { limit: 0 } });
    await got.post(`${base}/json`, { json: { a: 1 }, retry: { limit: 0 } });
  },
};

for (const base of bases) await ways[client](base);
process.exit(0);
