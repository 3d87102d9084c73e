import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { type ExportFormat, exported } from '../src/dead-letters/export.ts';
import type { FullLetter } from '../src/dead-letters/full-letter.ts';
import { firstParked } from '../src/store/letter-changes.ts';
import { sampleAttempt, sampleBody, sampleLetter } from './store-sample.ts';
import { rawServer } from './support/raw-server.ts';

type Changes = Parameters<typeof sampleLetter>[0];

const EMPTY = new Uint8Array();

function full(changes: Changes = {}, kept: Uint8Array | 'lost' = EMPTY): FullLetter {
  const body = kept === 'lost' ? undefined : kept;
  const letter = firstParked(
    sampleLetter({ bodyBytes: body?.byteLength ?? 0, ...changes }),
    body === undefined ? 'lost' : 'kept',
  );
  return { letter, body, response: undefined };
}

async function text(letters: FullLetter[], format: ExportFormat, withSecrets = false) {
  let all = '';
  for await (const piece of exported(letters, { format, withSecrets })) all += piece;
  return all;
}

/** Runs commands in a real shell; what a raw server heard, latin1. */
async function inShell(
  shell: string,
  make: (url: string) => FullLetter,
): Promise<{ head: string[]; body: Buffer }> {
  const server = await rawServer((socket) => {
    let heard = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      heard = Buffer.concat([heard, chunk]);
      const end = heard.indexOf('\r\n\r\n');
      const length = /content-length: (\d+)/i.exec(heard.toString('latin1'))?.[1] ?? '0';
      if (end !== -1 && heard.length >= end + 4 + Number(length)) {
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
      }
    });
  });
  try {
    const script = await text([make(`http://127.0.0.1:${server.port}`)], 'curl', true);
    const child = spawn(shell, [], {
      stdio: ['pipe', 'ignore', 'pipe'],
      env: { PATH: process.env.PATH, no_proxy: '*' },
    });
    child.stdin.end(script);
    let complaint = '';
    child.stderr.on('data', (chunk) => {
      complaint += chunk;
    });
    const [code] = await once(child, 'close');
    assert.equal(code, 0, `${complaint}\n${script}`);
    const heard = Buffer.from(server.heard[0] ?? '', 'latin1');
    const end = heard.indexOf('\r\n\r\n');
    const head = heard.toString('latin1', 0, end).split('\r\n');
    return { head, body: heard.subarray(end + 4) };
  } finally {
    await server.close();
  }
}

const FIELDS = [
  'Accept',
  'text/html;q=0.9, */*',
  'X-Quote',
  `it's "so" $HOME \`id\` \\n !`,
  'X-Empty',
  '',
  'X-Latin',
  'caf\xe9 \xff',
  'User-Agent',
  'a b',
];

for (const shell of ['bash', 'dash']) {
  test(`a curl command in ${shell} sends the request as it was`, async () => {
    const path = `/a/../b?q=[1-3]{x,y}&t=it's%20$HOME&u=%C3%A9`;
    const rawHeaders = FIELDS;
    const { head, body } = await inShell(shell, (url) =>
      full({ url: `${url}${path}`, method: 'GET', rawHeaders }),
    );
    assert.equal(head[0], `GET ${path} HTTP/1.1`);
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const line = `${rawHeaders[i]}: ${rawHeaders[i + 1]}`.trimEnd();
      assert.ok(
        head.some((one) => one.trimEnd() === line),
        `${line}\n${head.join('\n')}`,
      );
    }
    const names = head.slice(1).map((line) => line.split(':')[0]);
    assert.deepEqual(
      new Set(names),
      new Set(['Host', ...rawHeaders.filter((_, i) => i % 2 === 0)]),
    );
    assert.equal(body.length, 0);
  });

  for (const [what, bytes] of [
    [
      'text with everything a shell could misread',
      Buffer.from(`'"$HOME\`id\`\\\n@file !x\r\n%s é`),
    ],
    ['a NUL', Buffer.from('a\0b')],
    ['bytes that are no text', sampleBody(3000)],
    ['more than an argument may be long', Buffer.from('x'.repeat(200_000))],
    ['a text that looks like a file name', Buffer.from('@/etc/passwd')],
    ['nothing but a line end', Buffer.from('\n')],
  ] as const) {
    test(`a body with ${what} arrives byte for byte (${shell})`, async () => {
      const { head, body } = await inShell(shell, (url) =>
        full({ url: `${url}/x`, method: 'PUT', rawHeaders: ['Content-Type', 'a/b'] }, bytes),
      );
      assert.equal(head[0], 'PUT /x HTTP/1.1');
      assert.deepEqual(body, Buffer.from(bytes));
    });
  }
}

test('credentials are blanked in every form unless they are asked for', async () => {
  const secret = full({
    url: 'https://shop.test/a?token=hush&q=1',
    rawHeaders: [
      'Authorization',
      'Bearer hush',
      'Cookie',
      'sid=hush',
      'X-Api-Key',
      'hush',
      'A',
      'b',
    ],
  });
  for (const format of ['jsonl', 'curl', 'har'] as const) {
    const blank = await text([secret], format);
    assert.ok(!blank.includes('hush'), blank);
    assert.ok(blank.includes('q=1'));
    assert.ok((await text([secret], format, true)).includes('hush'));
  }
});

test('one line of JSON per letter, whatever is in it', async () => {
  const lines = (await text([full(), full({}, sampleBody(300)), full({}, 'lost')], 'jsonl'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal(lines.length, 3);
  assert.deepEqual(lines[0].request_body, { encoding: 'utf8', text: '' });
  const { encoding, text: base64 } = lines[1].request_body;
  assert.equal(encoding, 'base64');
  assert.deepEqual(Buffer.from(base64, 'base64'), Buffer.from(sampleBody(300)));
  assert.equal(lines[2].request_body, null);
  assert.equal(lines[0].attempts[0].verdict, 'host/rate_limited');
});

test('an archive has every field that HAR 1.2 requires, with and without a reply', async () => {
  const answered = full(
    { method: 'POST', rawHeaders: ['Content-Type', 'text/plain', 'Cookie', 'a=1; b=2'] },
    Buffer.from('hi'),
  );
  const response = {
    status: 200,
    reason: 'OK',
    rawHeaders: ['Content-Type', 'image/png', 'Location', '/x'],
    bytes: 3,
    truncated: false,
    at: 0,
    body: Uint8Array.from([255, 216, 0]),
  };
  const letters = [
    { ...answered, response },
    full({ attempts: [] }),
    full({ attempts: [sampleAttempt({ status: undefined })] }),
  ];
  const { log } = JSON.parse(await text(letters, 'har', true));
  assert.equal(log.version, '1.2');
  assert.ok(log.creator.name && log.creator.version);
  assert.equal(log.entries.length, 3);
  for (const entry of log.entries) {
    assert.ok(!Number.isNaN(Date.parse(entry.startedDateTime)));
    const { request, response: reply, timings, cache, time } = entry;
    for (const key of [
      'method',
      'url',
      'httpVersion',
      'cookies',
      'headers',
      'queryString',
      'headersSize',
      'bodySize',
    ]) {
      assert.ok(key in request, `request.${key}`);
    }
    for (const key of [
      'status',
      'statusText',
      'httpVersion',
      'cookies',
      'headers',
      'content',
      'redirectURL',
      'headersSize',
      'bodySize',
    ]) {
      assert.ok(key in reply, `response.${key}`);
    }
    assert.equal(typeof reply.content.size, 'number');
    assert.equal(typeof reply.content.mimeType, 'string');
    assert.deepEqual(cache, {});
    const { send, wait, receive } = timings;
    assert.ok(Math.abs(send + wait + receive - time) < 0.001);
  }
  const [first] = log.entries;
  assert.deepEqual(first.request.cookies, [
    { name: 'a', value: '1' },
    { name: 'b', value: '2' },
  ]);
  assert.equal(first.request.postData.text, 'hi');
  assert.equal(first.request.postData.mimeType, 'text/plain');
  assert.equal(first.response.content.encoding, 'base64');
  assert.equal(first.response.redirectURL, '/x');
});
