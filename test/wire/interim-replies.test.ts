import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Exchange } from '../../src/exchange/ports.ts';
import { got, h2Client, rigFor } from './h2-client-rig.ts';
import { replyWith, startRig, talk } from './listener-rig.ts';

type Inform = NonNullable<Exchange['inform']>;

/** A loop whose attempts bring these interim replies, before the final one. */
const bringing = (act: (inform: Inform | undefined) => void) => async (exchange: Exchange) => {
  act(exchange.inform);
  return replyWith({ body: 'ok' });
};

const ask = (port: number, version = '1.1') =>
  talk(port, `GET http://o.test/ HTTP/${version}\r\nHost: o.test\r\nConnection: close\r\n\r\n`);

/** What stands before the final head. */
const before = (text: string) => text.slice(0, text.search(/HTTP\/1\.[01] 200/));

test('interim replies reach an HTTP/1.1 client as they came: order, case, doubles and bytes', async () => {
  const rig = await startRig({
    run: bringing((inform) => {
      inform?.(102, []);
      inform?.(103, ['LINK', '</a>; rel=preload', 'X-\xe9', '1', 'X-b', '\xe9', 'Link', '</b>']);
      inform?.(199, ['X', '1', 'Connection', 'x-hop', 'X-Hop', '2', 'Content-Length', '5']);
    }),
  });
  assert.equal(
    before(await ask(rig.port)),
    [
      ...['HTTP/1.1 102 Processing', '', 'HTTP/1.1 103 Early Hints', 'LINK: </a>; rel=preload'],
      ...['X-b: \xe9', 'Link: </b>', '', 'HTTP/1.1 199 ', 'X: 1', '', ''],
    ].join('\r\n'),
  );
  await rig.stop();
});

test('an HTTP/1.0 client gets none', async () => {
  const rig = await startRig({
    run: bringing((inform) => {
      assert.equal(inform, undefined);
    }),
  });
  assert.equal(before(await ask(rig.port, '1.0')), '');
  await rig.stop();
});

test('hints that a failed attempt has shown are not shown again by the next; other ones are, and signs of life', async () => {
  const rig = await startRig({
    run: bringing((inform) => {
      for (let attempt = 0; attempt < 2; attempt += 1) {
        inform?.(102, []);
        inform?.(103, ['Link', '</a>']);
      }
      inform?.(103, ['Link', '</b>']);
    }),
  });
  const text = before(await ask(rig.port));
  assert.equal(text.match(/102 Processing/g)?.length, 2);
  assert.deepEqual(text.match(/Link: <\/.>/g), ['Link: </a>', 'Link: </b>']);
  await rig.stop();
});

test('a 100, a 101, a final status and a flood are kept from the client', async () => {
  const rig = await startRig({
    run: bringing((inform) => {
      for (const status of [100, 101, 200, 99]) inform?.(status, ['X', '1']);
      for (let i = 0; i < 1000; i += 1) inform?.(103, ['Link', `</${i}>`]);
    }),
  });
  const text = before(await ask(rig.port));
  assert.deepEqual(new Set(text.match(/HTTP\/1\.1 \d+/g)), new Set(['HTTP/1.1 103']));
  assert.equal(text.match(/HTTP\/1\.1 103/g)?.length, 100);
  await rig.stop();
});

test('nothing interim is written behind the final head', async () => {
  let late: Inform | undefined;
  const rig = await startRig({
    run: bringing((inform) => {
      late = inform;
    }),
  });
  const text = await ask(rig.port);
  late?.(103, ['Link', '</late>']);
  assert.doesNotMatch(text, /103/);
  await rig.stop();
});

test('over HTTP/2 they are field blocks of their own on the stream', async (t) => {
  const rig = await rigFor(t, {
    run: bringing((inform) => {
      inform?.(103, ['Link', '</a>', 'X-A', '1', 'Link', '</b>', 'Content-Length', '3']);
      inform?.(102, []);
    }),
  });
  const client = await h2Client(rig);
  const { interim, status } = await got(client.request({ ':path': '/' }));
  assert.equal(status, 200);
  assert.deepEqual(
    interim.map((fields) => [
      fields[':status'],
      fields.link,
      fields['x-a'],
      fields['content-length'],
    ]),
    [
      [103, '</a>, </b>', '1', undefined],
      [102, undefined, undefined, undefined],
    ],
  );
  client.close();
});
