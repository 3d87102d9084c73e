import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { started } from '../support/forbear-process.ts';
import { program } from '../support/programs.ts';
import { until } from '../support/raw-server.ts';
import {
  ANSWERS,
  digestOf,
  type Hit,
  LANDING,
  page,
  RETRY_AFTER_S,
  type TestOrigin,
} from '../support/test-origin.ts';
import { CLIENTS } from './client-list.ts';
import { type Line, OTHER_HOST, PLAIN_HOST, runClient, SECURE_HOST, startRig } from './rig.ts';

const LIMIT = { timeout: 90_000 };
/** What was under way when the site said to slow down may still arrive; not the page that said so. */
const UNDER_WAY_MS = 400;

const execFileAsync = promisify(execFile);

const PATHS = Object.keys(ANSWERS);
const URLS = [`http://${PLAIN_HOST}`, `https://${SECURE_HOST}`].flatMap((site) =>
  PATHS.map((path) => site + path),
);

for (const { name, flags = [], command } of CLIENTS) {
  test(`${name} gets every page of a site in trouble`, LIMIT, async (t) => {
    const { origin, config } = await startRig(t);
    const lines = await runClient(t, config, [...command(), ...URLS], { flags });
    assert.deepEqual(byUrl(lines), byUrl(URLS.map(rightLine)));
    for (const url of URLS) assertAnswers(origin, url);
    for (const hit of origin.hits) assertNothingOfOurs(hit);
  });
}

test(
  'a throttled program stops another one on the same host, and on no other',
  LIMIT,
  async (t) => {
    const { origin, config } = await startRig(t);
    const { port } = await started(t, ['--config', config]);
    const proxy = `http://client:x@127.0.0.1:${port}`;
    const curl = async (path: string, host = PLAIN_HOST) => {
      const args = [
        '--silent',
        '--show-error',
        '--fail',
        '--proxy',
        proxy,
        `http://${host}${path}`,
      ];
      return (await execFileAsync(program('curl'), args)).stdout;
    };

    const first = curl('/throttled');
    await until(() => origin.hits.length === 1);
    const others = [curl('/plain'), curl('/plain', OTHER_HOST)];
    const pages = await Promise.all([first, ...others]);
    assert.deepEqual(pages, [page('/throttled'), page('/plain'), page('/plain')]);
    assertPauses(origin, PLAIN_HOST);
    assert.equal(new URL(origin.hits[1]?.url ?? '').host, OTHER_HOST);
  },
);

const rightLine = (url: string): Line => ({
  url,
  status: 200,
  sha256: digestOf(new URL(url).pathname),
});

const byUrl = (lines: readonly Line[]): readonly Line[] =>
  [...lines].sort((a, b) => a.url.localeCompare(b.url));

/** Exactly the requests that were needed, and each retry from the address that its reason calls for. */
function assertAnswers(origin: TestOrigin, url: string): void {
  const { host, pathname } = new URL(url);
  const [first, second, ...rest] = origin.hits.filter((hit) => hit.url === url);
  const seen = [first, second, ...rest].flatMap((hit) => hit?.answer ?? []);
  assert.deepEqual(seen, ANSWERS[pathname], url);
  switch (first?.answer) {
    case 'throttled':
      assert.equal(second?.exit, first.exit, `${url} was asked again from another address`);
      assertPauses(origin, host);
      return;
    case 'blocked':
    case 'challenged':
      assert.notEqual(second?.exit, first.exit, `${url} was asked again from there`);
      return;
    case 'moved':
      assert.ok(origin.hits.some((hit) => hit.url.endsWith(`${host}${LANDING}`)));
      return;
    case 'page':
    case 'reset':
    case 'cut':
    case 'missing':
    case 'silent':
    case undefined:
  }
}

/** Nobody asks the host while it wants to be left alone. */
function assertPauses(origin: TestOrigin, host: string): void {
  const hits = origin.hits.filter((hit) => new URL(hit.url).host === host);
  for (const { at, url } of hits.filter((hit) => hit.answer === 'throttled')) {
    const early = hits.filter(
      (hit) =>
        hit.at > at + (hit.url === url ? 0 : UNDER_WAY_MS) && hit.at < at + RETRY_AFTER_S * 1000,
    );
    assert.deepEqual(
      early.map((hit) => `${hit.url} after ${hit.at - at} ms`),
      [],
    );
  }
}

function assertNothingOfOurs({ url, rawHeaders }: Hit): void {
  const names = rawHeaders.filter((_, index) => index % 2 === 0);
  assert.deepEqual(
    names.filter((name) => /^(forbear-|proxy-)/i.test(name)),
    [],
    url,
  );
}
