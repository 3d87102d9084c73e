import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

/**
 * Runs `use(browser)` with Debian's Chromium. It takes the proxy from the environment, unless `proxy` says
 * otherwise, and trusts the CA because it stands in the NSS database of its user.
 */
export async function withChromium(use, { proxy, args = [], trust = 'nss' } = {}) {
  const home = mkdtempSync(join(tmpdir(), 'forbear-chromium-'));
  if (trust === 'nss') addToNss(home, process.env.NODE_EXTRA_CA_CERTS);
  try {
    const browser = await chromium.launch({
      executablePath: '/usr/bin/chromium',
      env: { ...process.env, HOME: home },
      args,
      proxy,
    });
    try {
      return await use(browser);
    } finally {
      await browser.close();
    }
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The proxy of the environment in Playwright's own form, login and all. */
export function proxyOfEnvironment() {
  const { origin, username, password } = new URL(process.env.https_proxy);
  return { server: origin, username, password };
}

function addToNss(home, ca) {
  const database = join(home, '.pki', 'nssdb');
  mkdirSync(database, { recursive: true });
  execFileSync('certutil', ['-d', `sql:${database}`, '-A', '-t', 'C,,', '-n', 'forbear', '-i', ca]);
}
