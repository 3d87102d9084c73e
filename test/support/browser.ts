import { createRequire } from 'node:module';
import { after, type TestContext } from 'node:test';
import { program } from './programs.ts';

/** As much of Playwright's page as the tests use; what runs in the page is written as text. */
export interface BrowserPage {
  goto(url: string): Promise<unknown>;
  reload(): Promise<unknown>;
  evaluate<T>(expression: string): Promise<T>;
  waitForSelector(selector: string, o?: { state: 'hidden' | 'visible' }): Promise<unknown>;
  click(selector: string): Promise<void>;
  fill(selector: string, text: string): Promise<void>;
  selectOption(selector: string, value: string): Promise<unknown>;
  textContent(selector: string): Promise<string | null>;
  setViewportSize(size: { width: number; height: number }): Promise<void>;
  emulateMedia(o: { colorScheme: 'light' | 'dark' }): Promise<void>;
  screenshot(o: { path: string }): Promise<unknown>;
  on(event: 'pageerror', listener: (error: Error) => void): void;
  on(event: 'request', listener: (request: { method(): string; url(): string }) => void): void;
  on(
    event: 'console',
    listener: (message: { type(): string; text(): string; location(): { url: string } }) => void,
  ): void;
  /** Timers of the page that can be wound on; once it is installed. */
  readonly clock: { install(): Promise<void>; fastForward(ms: number): Promise<void> };
  context(): BrowserContext;
  readonly keyboard: { press(key: string): Promise<void>; type(text: string): Promise<void> };
}

export interface Browser {
  newContext(o: { viewport: { width: number; height: number } }): Promise<BrowserContext>;
  close(): Promise<void>;
}

/** What pages share that somebody has open at the same time: connections, for one. */
interface BrowserContext {
  newPage(): Promise<BrowserPage>;
  /** Answers from an HTTP archive instead of the network. */
  routeFromHAR(file: string, o: { notFound: 'abort' }): Promise<void>;
  newCDPSession(page: BrowserPage): Promise<{ send(method: string): Promise<unknown> }>;
  close(): Promise<void>;
}

/** Starts the system's Chromium, driven by the Playwright that the browser clients use. */
export async function startBrowser(): Promise<Browser> {
  const require = createRequire(new URL('../interop/clients/package.json', import.meta.url));
  const { chromium } = require('playwright-core') as {
    chromium: { launch(o: { executablePath: string; args: string[] }): Promise<Browser> };
  };
  // Everything here is loopback; as root Chromium does not start with its sandbox.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return chromium.launch({ executablePath: program('chromium'), args });
}

let shared: Promise<Browser> | undefined;
after(async () => (await shared)?.close());

/**
 * A page of a browser that the tests of a file share, with all that went wrong in it (errors, refusals of the content
 * security policy), and the calls by which it wanted to change something.
 */
export async function openPage(
  t: TestContext,
  url: string,
  size = { width: 1280, height: 800 },
): Promise<{ page: BrowserPage; faults: readonly string[]; writes: readonly string[] }> {
  shared ??= startBrowser();
  const context = await (await shared).newContext({ viewport: size });
  t.after(() => context.close());
  const page = await context.newPage();
  const faults: string[] = [];
  const writes: string[] = [];
  page.on('request', (request) => {
    if (request.method() !== 'GET') writes.push(`${request.method()} ${request.url()}`);
  });
  page.on('pageerror', (error) => faults.push(String(error.stack)));
  page.on('console', (message) => {
    // A refusal by the API is told by the page itself; the browser notes it as well.
    if (message.type() !== 'error' || /Failed to load resource/.test(message.text())) return;
    faults.push(message.text());
  });
  await page.goto(url);
  return { page, faults, writes };
}

/** Waits until an expression holds in the page; fails with what the page shows when it does not within 15 s. */
export async function until(page: BrowserPage, expression: string): Promise<void> {
  const shown = await page.evaluate<string>(`(async () => {
    const end = performance.now() + 15000;
    while (performance.now() < end) {
      if (${expression}) return '';
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    return document.body.innerText;
  })()`);
  if (shown !== '') throw new Error(`not so within 15 s: ${expression}\n${shown}`);
}

/** What a page holds once all that nobody needs is gone: bytes of its heap, nodes and listeners of its document. */
export async function pageSize(
  page: BrowserPage,
): Promise<{ heap: number; nodes: number; listeners: number }> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = (await session.send('Runtime.getHeapUsage')) as { usedSize: number };
  const { nodes, jsEventListeners } = (await session.send('Memory.getDOMCounters')) as {
    nodes: number;
    jsEventListeners: number;
  };
  return { heap: usedSize, nodes, listeners: jsEventListeners };
}
