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
import type { Bus } from './telemetry/bus.ts';
import { createRecent } from './telemetry/recent.ts';

interface Parts {
  readonly config: () => Config;
  readonly status: () => Omit<StatusFacts, 'version' | 'startedAt'>;
  readonly bus: Bus;
  readonly lanes: Lanes;
  readonly routes: WaysOut;
  readonly deadLetters: DeadLetters;
  readonly drain: () => void;
}

/** The admin server beside a proxy, and what it is handed of the parts; undefined where it is to listen nowhere. */
export function adminBeside(listen: Address | undefined, parts: Parts): AdminServer | undefined {
  if (listen === undefined) return undefined;
  const token = () => parts.config().admin.token;
  return createAdminServer(portsOf(parts), { listen, clock: systemClock, token });
}

function portsOf({ config, status, bus, lanes, routes, deadLetters, drain }: Parts): AdminPorts {
  const facts = { version: ownVersion(), startedAt: systemClock.now() };
  const recent = createRecent();
  bus.subscribe(recent.record);
  return {
    ...{ lanes, recent, drain },
    status: () => ({ ...facts, ...status() }),
    routes: {
      list: () => routes.list(),
      eject: (id, untilAt) => routes.operator.eject(id, untilAt),
      restore: (id) => routes.operator.restore(id),
      endSession: (id) => routes.endSession(id),
    },
    deadLetters: letterDesk(deadLetters),
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
    redrive: (which, onEach) => letters.redrive(which, onEach),
    export: (query, o) => letters.export(query, o),
  };
}

// One step up from src and from dist.
function ownVersion(): string {
  const file = new URL('../package.json', import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')).version;
}
