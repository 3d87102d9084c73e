import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ask } from '../support/admin.ts';
import { type Seen, site } from '../support/letters.ts';
import { program } from '../support/programs.ts';
import { get, startProxy } from '../support/whole-proxy.ts';

const promtool = program('promtool');
const rules = fileURLToPath(new URL('../../deploy/prometheus/forbear.rules.yaml', import.meta.url));
const recordings = fileURLToPath(new URL('../../deploy/prometheus/tests', import.meta.url));
const ROUNDS = 20;

/** Runs promtool and insists that it is content. */
function content(args: readonly string[], input = ''): void {
  const { status, stdout, stderr } = spawnSync(promtool, args, { input, encoding: 'utf8' });
  assert.equal(`${stdout}${stderr}`.includes('FAILED') || status !== 0, false, stdout + stderr);
}

/** What Prometheus sees of a proxy whose clients ask a site: one scrape after each round, written as one a minute. */
async function recorded(t: TestContext, status: (seen: Seen, round: number) => number) {
  let round = 0;
  const { url } = await site(t, (seen, reply) => reply.writeHead(status(seen, round)).end('page'));
  const { port, adminPort } = await startProxy(
    t,
    [
      'policy:',
      '  { max_attempts: 3, backoff: { base: 1ms }, budget: { ratio: 1, floor_per_minute: 10000 },',
      '    breaker: { consecutive: 50, when_open: refuse } }',
    ],
    { admin: true },
  );
  const series = new Map<string, string[]>();
  let last = '';
  for (; round < ROUNDS; round += 1) {
    await Promise.all(Array.from({ length: 20 }, (_, n) => get(port, `${url}/${round}/${n}`)));
    last = (await ask(adminPort, 'GET', '/metrics')).text;
    for (const [, name = '', value = ''] of last.matchAll(/^([a-z_]+(?:\{.*\})?) (\S+)$/gm)) {
      const values = series.get(name) ?? Array.from({ length: round }, () => '_');
      series.set(name, [...values, value]);
    }
    for (const values of series.values()) if (values.length === round) values.push('_');
  }
  return { series, last };
}

/** Has promtool play the series to the rules, and says which alerts must be firing at the end. */
function fires(series: ReadonlyMap<string, readonly string[]>, alerts: readonly string[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'forbear-promtool-'));
  const inputs = [...series].map(([name, values]) => ({ series: name, values: values.join(' ') }));
  const tests = [
    {
      interval: '1m',
      input_series: inputs,
      promql_expr_test: [
        {
          expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
          eval_time: `${ROUNDS - 1}m`,
          exp_samples: alerts.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 })),
        },
      ],
    },
  ];
  // JSON is YAML.
  const file = join(folder, 'test.yaml');
  writeFileSync(file, JSON.stringify({ rule_files: [rules], evaluation_interval: '1m', tests }));
  try {
    content(['test', 'rules', file]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('promtool finds nothing to complain of in the metrics and the rules', async (t) => {
  const { last } = await recorded(t, () => 200);
  content(['check', 'metrics'], last);
  content(['check', 'rules', rules]);
});

test('in each recorded run of the discipline bench the alerts that should fire do, and no other', () => {
  const files = readdirSync(recordings).map((name) => join(recordings, name));
  assert.ok(files.length >= 8);
  content(['test', 'rules', ...files]);
});

test('while all goes well no alert fires', async (t) => {
  fires((await recorded(t, ({ url }) => (url.endsWith('/7') ? 404 : 200))).series, []);
});

test('when retries make up for a site, the alert on first attempts fires, and no other', async (t) => {
  const asked = new Set<string>();
  const { series } = await recorded(t, ({ url }) => {
    const isFirst = !asked.has(url);
    asked.add(url);
    return isFirst && Number(url.split('/')[2]) % 5 < 2 ? 500 : 200;
  });
  fires(series, ['ForbearFirstAttemptsFail']);
});

test('when a site is down, the alert on its breaker fires, and no other', async (t) => {
  const { series } = await recorded(t, (_, round) => (round < 4 ? 200 : 503));
  fires(series, ['ForbearBreakerOpen']);
});
