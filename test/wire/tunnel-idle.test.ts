import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { loadConfig } from '../../src/config/load.ts';
import { connectTo } from '../support/client-wire.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { rawServer } from '../support/raw-server.ts';
import { dial, replyWith, startRig, until } from './listener-rig.ts';

test('a blind tunnel ends when both ends were silent for limits.tunnel_idle, and each byte begins the time anew', async () => {
  const loaded = loadConfig({
    file: undefined,
    text: 'intercept: { mode: none }\nlimits: { tunnel_idle: 20s }',
    env: {},
    flags: {},
  });
  assert.ok(loaded.kind === 'ok');
  const site = await rawServer((socket) => void socket.pipe(socket));
  const clock = new FakeClock();
  const { intercept, limits } = loaded.config;
  const rig = await startRig({
    clock,
    config: { intercept, limits },
    runTunnel: async () => {
      const socket = connect(site.port, '127.0.0.1');
      await once(socket, 'connect');
      return { ...replyWith({}), socket };
    },
  });
  const client = await dial(rig.port);
  client.write(connectTo('o.test:443'));
  await until(client, (text) => text.endsWith('\r\n\r\n'));
  const closed = once(client, 'end');
  for (let round = 0; round < 3; round += 1) {
    await clock.advance(19_999);
    client.write('still here');
    await until(client, (text) => text === 'still here');
  }
  assert.equal(rig.listener.openConnections(), 1);
  // What was said just before the end of a span is seen at that end; the silence behind it is a whole span.
  await clock.advance(40_000);
  await closed;
  client.destroy();
  await rig.stop();
  await site.close();
});
