// Does discipline pay? Two loops as scrapers write them, and a client without any retries behind the proxy, against
// sites that limit, ban and fail. Prints a markdown table; the exit status is 1 if a promise was broken.
// Flags: --only 1,4  --quick (a fifth of the work, for a first look)  --clients naive,jitter,forbear  --seed N  --json
// --logs FOLDER (what the proxy says in each scenario)
import { parseArgs } from 'node:util';
import type { Gateway } from '../test/support/gateway.ts';
import { type ClientName, checks, type Row, table, verdict } from './discipline-report.ts';
import { run } from './discipline-run.ts';
import { type Scenario, scenarios } from './discipline-scenarios.ts';
import { type Client, jitterLoop, naiveLoop } from './loops.ts';
import { throughForbear } from './through-forbear.ts';

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    quick: { type: 'boolean', default: false },
    clients: { type: 'string' },
    json: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    logs: { type: 'string' },
  },
});

const CLIENTS: Readonly<
  Record<string, [ClientName, (gateway: Gateway, scenario: Scenario) => Client | Promise<Client>]>
> = {
  naive: ['naive loop', naiveLoop],
  jitter: ['jitter loop', jitterLoop],
  forbear: [
    'Forbear',
    (gateway, { number }) => throughForbear(gateway, { folder: flags.logs, name: `${number}` }),
  ],
};

const rows = await measured();
const found = checks(rows, flags.quick ? 'quick' : 'full');
process.stdout.write(
  flags.json
    ? `${JSON.stringify({ rows, checks: found }, null, 2)}\n`
    : `${table(rows)}\n\n${verdict(found)}\n`,
);
process.exitCode = found.every(({ kept }) => kept) ? 0 : 1;

async function measured(): Promise<Row[]> {
  const rows: Row[] = [];
  const numbers = flags.only?.split(',').map(Number);
  const clients = flags.clients?.split(',') ?? Object.keys(CLIENTS);
  for (const scenario of scenarios({ scale: flags.quick ? 0.2 : 1, seed: Number(flags.seed) })) {
    if (numbers && !numbers.includes(scenario.number)) continue;
    for (const key of clients) {
      const [client, open] = CLIENTS[key] ?? unknown(key);
      process.stderr.write(`${scenario.number}. ${scenario.name}: ${client}\n`);
      rows.push({
        scenario,
        client,
        result: await run(scenario, (gateway) => open(gateway, scenario)),
      });
    }
  }
  return rows;
}

function unknown(key: string): never {
  throw new Error(`--clients: ${key} is none of ${Object.keys(CLIENTS).join(', ')}`);
}
