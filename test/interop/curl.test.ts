import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratch } from '../support/forbear-process.ts';
import { program } from '../support/programs.ts';
import { startBehind, WAYS } from './behind.ts';
import { bodyOf, digestOf, startSite } from './loopback-site.ts';
import { client, runClient } from './rig.ts';

const LIMIT = { timeout: 90_000 };
const GOODS = Buffer.alloc(2_500_000, 'goods in pieces ');

for (const way of WAYS) {
  test(`curl uploads, resumes and speaks HTTP/1.0 through ${way}`, LIMIT, async (t) => {
    const { config, env } = await startBehind(t, way);
    const { http, https, asked } = await startSite(t, warehouse);
    const file = join(mkdtempSync(join(scratch, 'curl-')), 'goods');
    writeFileSync(file, GOODS);
    program('curl');
    const urls = [http, https].map((site) => `${site}/goods`);
    const lines = await runClient(t, config, ['sh', client('curl-works.sh'), file, ...urls], {
      env,
    });
    const whole = digestOf(GOODS);
    const good = { whole, chunks: whole, resumed: whole, old: 'one two three', coding: '' };
    assert.deepEqual(
      lines,
      urls.map((url) => ({ url, ...good })),
    );
    const ranges = asked.map(({ rawHeaders }) => fieldOf(rawHeaders, 'range'));
    const resumed = ranges.filter((range) => range !== undefined);
    assert.deepEqual(resumed, ['bytes=1000000-', 'bytes=1000000-']);
  });
}

/** Takes what is put, gives the whole or a piece, and sends chunks. */
async function warehouse(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === 'PUT') return void response.end(digestOf(await bodyOf(request)));
  if (request.url === '/goods/chunks') {
    for (const word of ['one ', 'two ']) response.write(word);
    return void response.end('three');
  }
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
  const piece = GOODS.subarray(from);
  // With its length: Squid 5.7 never ends a piece that comes in chunks.
  response.setHeader('Content-Length', piece.length);
  if (from === 0) return void response.end(piece);
  const range = `bytes ${from}-${GOODS.length - 1}/${GOODS.length}`;
  response.writeHead(206, { 'Content-Range': range }).end(piece);
}

const fieldOf = (rawHeaders: readonly string[], name: string) =>
  rawHeaders.find((_, index) => rawHeaders[index - 1]?.toLowerCase() === name && index % 2 === 1);
