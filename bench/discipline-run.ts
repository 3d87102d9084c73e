import { type Gateway, startGateway } from '../test/support/gateway.ts';
import { type Site, startSite } from '../test/support/site.ts';
import { type Scenario, WORKERS, type Work } from './discipline-scenarios.ts';
import type { Client, Taken } from './loops.ts';

/** What one client did with one scenario, and to its site. */
export interface Result {
  readonly items: number;
  readonly delivered: number;
  /** Recorded as an item, but not the item. */
  readonly falseData: number;
  readonly elapsedMs: number;
  readonly requests: number;
  readonly throttles: number;
  readonly strikes: number;
  readonly bans: number;
  readonly poolBurns: number;
  readonly requestsIntoOutage: number;
  readonly sessionsBroken: number;
}

const HOST = 'shop.test';
const CAP_MS = 120_000;

/** Runs the worklist with a client against a new site behind a new gateway. */
export async function run(
  scenario: Scenario,
  open: (gateway: Gateway) => Client | Promise<Client>,
): Promise<Result> {
  const site = await startSite(scenario.site);
  const gateway = await startGateway({
    exits: scenario.exits,
    portOf: (host) => (host === HOST ? site.port : undefined),
  });
  const client = await open(gateway);
  const startedAt = performance.now();
  const tally = { delivered: 0, falseData: 0 };
  await work(jobsOf(scenario.work), client, (path, taken) => {
    if (taken.body === site.page(path)) tally.delivered += 1;
    else tally.falseData += 1;
  });
  const elapsedMs = performance.now() - startedAt;
  await client.close();
  await gateway.close();
  await site.close();
  return { items: itemsIn(scenario.work), ...tally, elapsedMs, ...damageOf(site) };
}

function damageOf(site: Site) {
  return { ...site.damage, sessionsBroken: site.brokenFlows };
}

function itemsIn(work: Work): number {
  switch (work.kind) {
    case 'pages':
      return work.pages;
    case 'flows':
      return work.flows * work.steps;
  }
}

/** What a worker does in one go: one page, or one flow step by step. */
interface Job {
  readonly flow: string | undefined;
  readonly paths: readonly string[];
}

function jobsOf(work: Work): Job[] {
  switch (work.kind) {
    case 'pages':
      return Array.from({ length: work.pages }, (_, n) => ({
        flow: undefined,
        paths: [`/items/${n + 1}`],
      }));
    case 'flows':
      return Array.from({ length: work.flows }, (_, n) => ({
        flow: `flow${n + 1}`,
        paths: Array.from({ length: work.steps }, (_, step) => `/flows/${n + 1}/${step + 1}`),
      }));
  }
}

async function work(
  jobs: readonly Job[],
  client: Client,
  record: (path: string, taken: Taken) => void,
): Promise<void> {
  const signal = AbortSignal.timeout(CAP_MS);
  const waiting = jobs.values();
  const worker = async () => {
    for (const job of waiting) {
      if (signal.aborted) return;
      await perform(job, client, { signal, record });
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
}

async function perform(
  { flow, paths }: Job,
  client: Client,
  o: { signal: AbortSignal; record: (path: string, taken: Taken) => void },
): Promise<void> {
  let cookie: string | undefined;
  for (const path of paths) {
    const taken = await client.get({ url: `http://${HOST}${path}`, flow, cookie }, o.signal);
    // A flow that lost a step cannot go on.
    if (!taken) return;
    o.record(path, taken);
    cookie = taken.cookie ?? cookie;
  }
}
