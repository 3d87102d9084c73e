// Which alerts of deploy/prometheus fire in the discipline bench's scenarios? Runs each through the proxy, scrapes it
// once a second, and writes what was scraped as tests of the rules (promtool test rules deploy/prometheus/tests/*.yaml).
// A second of the run stands for 15 s there: the rules look at minutes, the scenarios last one.
// Flags: --only 3,4  --seed N  --out FOLDER
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { loadConfig } from '../src/config/load.ts';
import { createProxy } from '../src/proxy.ts';
import type { Gateway } from '../test/support/gateway.ts';
import type { SiteOptions } from '../test/support/site.ts';
import { run } from './discipline-run.ts';
import { type Scenario, scenarios } from './discipline-scenarios.ts';
import type { Client } from './loops.ts';
import { ask } from './requests.ts';

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    seed: { type: 'string', default: '1' },
    out: {
      type: 'string',
      default: fileURLToPath(new URL('../deploy/prometheus/tests', import.meta.url)),
    },
  },
});

/** What must fire in each scenario, and nothing else may. */
const EXPECTED: Readonly<Record<number, readonly string[]>> = {
  4: ['ForbearBreakerOpen'],
  7: [
    ...['ForbearAddressesBlocked', 'ForbearDeadLettersGrow'],
    ...['ForbearExchangesFail', 'ForbearFirstAttemptsFail'],
  ],
  8: ['ForbearFirstAttemptsFail'],
};
const SCRAPE_MS = 1000;
const STEP_S = 15;
/** What the rules read; buckets of other histograms would only make the files long. */
const READ = new RegExp(
  `^forbear_(${[
    ...['attempts_total', 'retries_total', 'exchanges_total', 'bytes_total', 'breaker_state'],
    ...['early_warning', 'lane_paused_seconds', 'queue_depth', 'dead_letters', 'routes'],
    'overhead_seconds_bucket',
  ].join('|')})\\b`,
);

/** Values of one series, by scrape. */
type Series = Map<string, (string | undefined)[]>;

const seed = Number(flags.seed);
/** The discipline keeps the usual trials quiet; in these there is something to tell. */
const TROUBLES: readonly Scenario[] = [
  trouble(7, 'every address is burned', { burned: () => true }, 6000),
  trouble(8, 'one attempt in seven fails', { faultRatio: 0.14 }, 3000),
];

for (const scenario of [...scenarios({ scale: 1, seed }), ...TROUBLES]) {
  const { number, name } = scenario;
  if (flags.only && !flags.only.split(',').map(Number).includes(number)) continue;
  process.stderr.write(`${number}. ${name}\n`);
  const { series, scrapes } = await recorded(scenario);
  mkdirSync(flags.out, { recursive: true });
  const file = join(flags.out, `${number}-${name.toLowerCase().replace(/[^a-z0-9]+/g, '-')}.yaml`);
  writeFileSync(file, testFile(scenario, series, scrapes));
  process.stdout.write(`${file}: ${series.size} series, ${scrapes} scrapes\n`);
}

function trouble(
  number: number,
  name: string,
  site: Partial<SiteOptions>,
  pages: number,
): Scenario {
  const work = { kind: 'pages', pages } as const;
  const options = { seed, latencyMs: 80, ...site };
  return { number, name, site: options, exits: 200, work, idealMs: undefined };
}

async function recorded(scenario: Scenario): Promise<{ series: Series; scrapes: number }> {
  const series: Series = new Map();
  const state = { scrapes: 0 };
  await run(scenario, async (gateway) => {
    const proxy = await start(gateway);
    const over = new AbortController();
    const scraping = scrape(proxy.adminPort, { series, state, signal: over.signal });
    return {
      ...clientOf(proxy.port),
      async close() {
        // Alerts that are pending have their time.
        await pause(3 * SCRAPE_MS);
        over.abort();
        await scraping;
        await proxy.stop();
      },
    };
  });
  return { series, scrapes: state.scrapes };
}

async function start({ port, account: { name, password } }: Gateway) {
  const home = mkdtempSync(join(tmpdir(), 'forbear-alerts-'));
  const text = [
    'listen: 127.0.0.1:0',
    'upstreams:',
    '  - name: pool',
    `    gateway: http://${name}-sid-{session|alnum:12}:${password}@127.0.0.1:${port}`,
  ].join('\n');
  const loaded = loadConfig({ file: undefined, text, env: {}, flags: {} });
  if (loaded.kind !== 'ok') throw new Error(JSON.stringify(loaded.faults));
  const admin = { host: '127.0.0.1', port: 0 };
  const proxy = await createProxy({ config: loaded.config, home, admin });
  const bound = await proxy.start();
  return {
    port: bound.proxy.port,
    adminPort: bound.admin?.port ?? 0,
    async stop() {
      await proxy.stop();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function clientOf(proxyPort: number): Client {
  const agent = new Agent({ keepAlive: true });
  return {
    async get({ url, flow, cookie }, signal) {
      const headers = {
        ...(flow === undefined ? {} : { 'Forbear-Session': flow }),
        ...(cookie === undefined ? {} : { Cookie: cookie }),
      };
      const answer = await ask({ url, proxyPort, agent, headers, signal });
      const isGood = answer.kind === 'page' && answer.status === 200 && answer.complete;
      return isGood ? answer : undefined;
    },
    close: async () => agent.destroy(),
  };
}

async function scrape(
  port: number,
  o: { series: Series; state: { scrapes: number }; signal: AbortSignal },
): Promise<void> {
  const startedAt = performance.now();
  while (!o.signal.aborted) {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    for (const line of text.split('\n')) {
      const [, name = '', value = ''] = /^(\w+(?:\{.*\})?) (\S+)$/.exec(line) ?? [];
      if (!READ.test(name)) continue;
      const values = o.series.get(name) ?? [];
      values[o.state.scrapes] = value;
      o.series.set(name, values);
    }
    o.state.scrapes += 1;
    const nextAt = startedAt + o.state.scrapes * SCRAPE_MS;
    await pause(Math.max(0, nextAt - performance.now()));
  }
}

function testFile({ number, name }: Scenario, series: Series, scrapes: number): string {
  const expected = EXPECTED[number] ?? [];
  const samples = expected.map(
    (alert) => `          - labels: '{alertname="${alert}"}'\n            value: 1`,
  );
  return [
    `# Recorded by bench/alerts.ts from scenario ${number} of the discipline bench: ${name}.`,
    'rule_files: [../forbear.rules.yaml]',
    `evaluation_interval: ${STEP_S}s`,
    'tests:',
    `  - interval: ${STEP_S}s`,
    '    input_series:',
    `      - series: 'up{job="forbear",instance="forbear:8889"}'`,
    `        values: '1+0x${scrapes - 1}'`,
    ...[...series]
      .sort()
      .flatMap(([one, values]) => [
        `      - series: '${withInstance(one)}'`,
        `        values: '${notation(values, scrapes)}'`,
      ]),
    '    promql_expr_test:',
    '      # All that fired at any time.',
    `      - expr: 'max by (alertname) (max_over_time(ALERTS{alertstate="firing"}[2h]))'`,
    `        eval_time: ${(scrapes - 1) * STEP_S}s`,
    ...(samples.length === 0 ? ['        exp_samples: []'] : ['        exp_samples:', ...samples]),
    '',
  ].join('\n');
}

function withInstance(series: string): string {
  const instance = 'instance="forbear:8889"';
  return series.endsWith('}') ? series.replace(/\}$/, `,${instance}}`) : `${series}{${instance}}`;
}

/** In promtool's notation: `_` for no sample, `v+0xN` for a value that stays. */
function notation(values: readonly (string | undefined)[], scrapes: number): string {
  const parts: string[] = [];
  for (let at = 0; at < scrapes; ) {
    const value = values[at];
    let run = 1;
    while (at + run < scrapes && values[at + run] === value) run += 1;
    if (value === undefined) parts.push(run === 1 ? '_' : `_x${run}`);
    else parts.push(run === 1 ? value : `${value}+0x${run - 1}`);
    at += run;
  }
  return parts.join(' ');
}
