import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  LIMIT,
  origin,
  portHolder,
  scratch,
  spawnForbear,
  started,
} from './support/forbear-process.ts';

// What a command sees of its environment, as JSON on its output.
const TELL = ['-e', 'console.log("seen:" + JSON.stringify(process.env))'];

async function seenBy(service: ReturnType<typeof spawnForbear>): Promise<Record<string, string>> {
  const [, json = ''] = await service.printed.until(/^seen:(.*)$/m);
  return JSON.parse(json);
}

test('run starts a proxy of its own, and gives the command all variables', LIMIT, async (t) => {
  const service = spawnForbear(t, ['run', '--', process.execPath, ...TELL], {
    FORBEAR_LISTEN: '127.0.0.1:0',
  });
  const env = await seenBy(service);
  assert.match(env.https_proxy ?? '', /^http:\/\/client:x@127\.0\.0\.1:\d+$/);
  assert.equal(env.NO_PROXY, 'localhost,127.0.0.1,::1');
  assert.ok(existsSync(env.SSL_CERT_FILE ?? ''));
  assert.deepEqual(await service.closed, [0, null]);
});

const FETCH =
  'http.get({host:"127.0.0.1",port:new URL(process.env.http_proxy).port,path:process.argv[1]},(r)=>r.pipe(process.stdout))';

test('run: the command reaches the site through the proxy', LIMIT, async (t) => {
  const site = await origin(
    t,
    (request) => `via ${request.headers['x-none'] ?? 'proxy'} ${request.url}`,
  );
  const service = spawnForbear(
    t,
    ['run', '--', process.execPath, '-e', FETCH, `http://127.0.0.1:${site.port}/here`],
    { FORBEAR_LISTEN: '127.0.0.1:0' },
  );
  assert.deepEqual(await service.closed, [0, null]);
  assert.equal(service.printed.text, 'via proxy /here');
});

test('run and env take the proxy that runs on the same home', LIMIT, async (t) => {
  const { home, port } = await started(t);
  const service = spawnForbear(t, ['run', '--session', 'cart7', '--', process.execPath, ...TELL], {
    FORBEAR_HOME: home,
  });
  const env = await seenBy(service);
  assert.equal(env.HTTP_PROXY, `http://client-session-cart7:x@127.0.0.1:${port}`);

  const exported = spawnForbear(t, ['env'], { FORBEAR_HOME: home });
  assert.deepEqual(await exported.closed, [0, null]);
  assert.ok(exported.printed.text.includes(`HTTP_PROXY='http://client:x@127.0.0.1:${port}'`));
  assert.doesNotMatch(exported.printed.text, /^forbear:/m);
});

test(
  'run starts its own where the running one follows another configuration than was asked for',
  LIMIT,
  async (t) => {
    const { home, port } = await started(t);
    const file = join(scratch, 'other.yaml');
    writeFileSync(file, `listen: 127.0.0.1:${port}\npolicy: { max_attempts: 2 }\n`);
    const service = spawnForbear(t, ['run', '--config', file, '--', process.execPath, ...TELL], {
      FORBEAR_HOME: home,
    });
    const env = await seenBy(service);
    assert.match(env.HTTP_PROXY ?? '', /^http:\/\/client:x@127\.0\.0\.1:\d+$/);
    assert.notEqual(env.HTTP_PROXY, `http://client:x@127.0.0.1:${port}`);
  },
);

test('run takes a free port when something else holds the usual one', LIMIT, async (t) => {
  const port = await portHolder(t);
  const service = spawnForbear(t, ['run', '--', process.execPath, ...TELL], {
    FORBEAR_LISTEN: `127.0.0.1:${port}`,
  });
  assert.doesNotMatch((await seenBy(service)).HTTP_PROXY ?? '', new RegExp(`:${port}$`));
});

const endings: readonly (readonly [string, readonly string[], number])[] = [
  ['the status of the command', ['sh', '-c', 'exit 42'], 42],
  ['128 + n of the signal that ended the command', ['sh', '-c', 'kill -TERM $$'], 143],
  ['127 for a command that is not there', ['no-such-command-here'], 127],
];

for (const [name, command, status] of endings) {
  test(`run ends with ${name}`, LIMIT, async (t) => {
    const service = spawnForbear(t, ['run', '--', ...command], { FORBEAR_LISTEN: '127.0.0.1:0' });
    assert.deepEqual(await service.closed, [status, null]);
    if (status === 127)
      assert.equal(service.printed.text, 'forbear: command not found: no-such-command-here\n');
  });
}

test('run passes a signal on, and waits for how the command takes it', LIMIT, async (t) => {
  const script = 'trap "echo told; exit 9" TERM; echo ready; while :; do sleep 0.05; done';
  const { child, printed, closed } = spawnForbear(t, ['run', '--', 'sh', '-c', script], {
    FORBEAR_LISTEN: '127.0.0.1:0',
  });
  await printed.until(/ready/);
  child.kill('SIGTERM');
  assert.deepEqual(await closed, [9, null]);
  assert.match(printed.text, /told/);
});
