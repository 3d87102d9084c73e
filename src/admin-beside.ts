import { readFileSync } from 'node:fs';
import { type AdminServer, createAdminServer } from './admin/server.ts';
import type { AdminPorts, LetterDesk, StatusFacts } from './admin/views.ts';
import { systemClock } from './clock.ts';
import { blankSecrets } from './config/blank-secrets.ts';
import type { Address, Config } from './config/config.ts';
import type { DeadLetters } from './dead-letters/dead-letters.ts';
import { shownLetter } from './dead-letters/shown-letter.ts';
import type { Lanes } from './lanes/lanes.ts';
import type { WaysOut } from './routes/routes.ts';
import type { Saving } from './saving/saving.ts';
import type { Bus } from './telemetry/bus.ts';
import { Interception } from './telemetry/interception.ts';
import { createMetrics } from './telemetry/metrics.ts';
import { createRecent } from './telemetry/recent.ts';
import { Spend } from './telemetry/spend.ts';
import type { Warnings } from './telemetry/warnings.ts';

interface Parts {
  readonly config: () => Config;
  readonly status: () => Omit<StatusFacts, 'version' | 'startedAt'>;
  readonly bus: Bus;
  readonly lanes: Lanes;
  readonly routes: WaysOut;
  readonly deadLetters: DeadLetters;
  readonly saving: Saving;
  readonly warnings: Warnings;
  readonly drain: () => void;
}

/** The admin server beside a proxy, and what it is handed of the parts; undefined where it is to listen nowhere. */
export function adminBeside(listen: Address | undefined, parts: Parts): AdminServer | undefined {
  if (listen === undefined) return undefined;
  const token = () => parts.config().admin.token;
  return createAdminServer(portsOf(parts), { listen, clock: systemClock, token });
}

function portsOf({
  config,
  status,
  bus,
  lanes,
  routes,
  deadLetters,
  drain,
  saving,
  warnings,
}: Parts): AdminPorts {
  const facts = { version: ownVersion(), startedAt: systemClock.now() };
  const recent = createRecent();
  const priceOf = (upstream: string) =>
    config().upstreams.find(({ name }) => name === upstream)?.pricePerGb ?? null;
  const spend = new Spend(facts.startedAt, priceOf);
  const metrics = createMetrics({
    priceOf,
    mostLanes: () => config().metrics.maxLanes,
    state: {
      now: () => systemClock.now(),
      lanes: () => lanes.list(),
      routes: () => routes.list(),
      letters: () => deadLetters.counts(),
      warnings: () => warnings.raised(),
      failures: () => bus.failures,
    },
  });
  const interception = new Interception();
  for (const { record } of [recent, spend, metrics, interception]) bus.subscribe(record);
  return {
    ...{ lanes, recent, drain },
    spend: () => spend.view(),
    warnings: () => warnings.raised(),
    interception: () => interception.view(systemClock.now()),
    metrics: () => metrics.render(),
    status: () => ({ ...facts, ...status() }),
    routes: {
      list: () => routes.list(),
      eject: (id, untilAt) => routes.operator.eject(id, untilAt),
      restore: (id) => routes.operator.restore(id),
      reputation: (id) => routes.operator.reputation(id),
      endSession: (id) => routes.endSession(id),
    },
    deadLetters: letterDesk(deadLetters),
    kept: () => saving.kept(),
    config: () => blankSecrets(config()),
  };
}

function letterDesk(letters: DeadLetters): LetterDesk {
  return {
    async list(query) {
      const { items, next } = await letters.list(query);
      return { items: items.map(shownLetter), next };
    },
    async get(id) {
      const letter = await letters.get(id);
      return letter && shownLetter(letter);
    },
    body: (id) => letters.body(id),
    response: (id) => letters.response(id),
    counts: () => letters.counts(),
    drop: (ids) => letters.drop(ids),
    redrive: (which, onEach) =>
      letters.redrive(which, ({ id, outcome, detail }) => onEach({ id, outcome, detail })),
    export: (query, o) => letters.export(query, o),
  };
}

// One step up from src and from dist.
function ownVersion(): string {
  const file = new URL('../package.json', import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')).version;
}
