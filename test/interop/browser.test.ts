import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Behind, startBehind, WAYS } from './behind.ts';
import { DOWNLOAD, PARTS, startBrowserSite } from './browser-site.ts';
import { chromium } from './client-list.ts';
import { type Asked, digestOf, type LoopbackSite } from './loopback-site.ts';
import { linesOf, runCommand } from './rig.ts';

const LIMIT = { timeout: 90_000 };
/** An event that is held back would be held for good. */
const HOLDING = 'targets: [{ match: "*.test", inspect: { hold_for: 1h } }]';

for (const way of WAYS) {
  test(`Chromium does with sites what browsers do, through ${way}`, LIMIT, async (t) => {
    const behind = await startBehind(t, way, [HOLDING]);
    const site = await startBrowserSite(t, 'h2');
    await assertWholeTour(t, behind, { site, login: 'without-login' });
    const versions = site.asked.filter(({ path }) => path.startsWith('/part/')).map(versionOf);
    assert.deepEqual([...new Set(versions)], ['http 1.1', 'https 2.0']);
  });
}

test(
  'Chromium logs in at the proxy, and speaks HTTP/2 with it for an old site',
  LIMIT,
  async (t) => {
    const behind = await startBehind(t, 'direct', ['auth: required', HOLDING]);
    const site = await startBrowserSite(t, 'h1');
    await assertWholeTour(t, behind, { site, login: 'with-login' });
    assert.deepEqual([...new Set(site.asked.map(versionOf))], ['http 1.1', 'https 1.1']);
  },
);

async function assertWholeTour(
  t: TestContext,
  { config, env }: Behind,
  { site, login }: { readonly site: LoopbackSite; readonly login: string },
): Promise<void> {
  const sites = [site.http, site.https];
  const command = [...chromium('tour.js'), login, ...sites];
  const printed = await runCommand(t, config, command, { env });
  assert.deepEqual(
    linesOf(printed),
    sites.map((url, index) => ({
      url,
      parts: PARTS,
      pictures: PARTS,
      protocols: [index === 0 ? 'http/1.1' : 'h2'],
      events: ['1', '2', '3'],
      echoes: [5, 300, 100_000],
      uploads: [digestOf('a small one'), digestOf('big '.repeat(750_000))],
      download: digestOf(DOWNLOAD),
    })),
  );
}

const versionOf = ({ scheme, version }: Asked): string => `${scheme} ${version}`;
