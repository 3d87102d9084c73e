import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { Policy } from '../core/policy.ts';
import { type LoggedPolicy, loggedPolicy, type PolicyLine } from '../telemetry/attempt-line.ts';

/** A key of the rules that has another value now. */
export interface RuleChange {
  readonly key: string;
  readonly recorded: unknown;
  readonly whatIf: unknown;
  /** False for what a replay cannot play: when attempts start, over which route, and how they are read. */
  readonly replayed: boolean;
}

/** How the rules then and the other ones differ, as far as it matters for what can be known. */
interface Difference {
  /** In what verdicts rest on. */
  readonly judging: boolean;
  /** Whether rules that differ look into the bodies of replies with this status. */
  readonly looksInto: (status: number) => boolean;
  /** In the pages that the user knows. */
  readonly markers: boolean;
}

const JUDGING = [
  ...(['replies', 'expect', 'markers', 'softBlocks', 'transientStatuses', 'maxAddresses'] as const),
] as const;
/** Their effect is in what was recorded: when attempts started, over which route, and what they brought. */
const UNPLAYED = new RegExp(
  '^(?:pace|timeouts|authFuse|byteBudget|routes|sessions|upstreams|inspect|replayBodyBytes' +
    '|resumeDownloads|http2|lenient|controlRequests)\\b',
);
/** A writer knows 200 at a time. */
const MOST_RULES = 2_000;
const MOST_WISHES = 1_000;
const MOST_CHANGES = 50;

/** The sets of rules that a log names, and how they differ from those of the configuration. */
export class RuleSets {
  readonly #recorded = new LRUCache<string, Policy>({ max: MOST_RULES });
  readonly #differences = new WeakMap<Policy, WeakMap<Policy, Difference>>();
  readonly #wishes = new WeakMap<Policy, Map<string, Policy>>();
  readonly #changes = new Map<string, RuleChange>();

  add({ id, policy }: PolicyLine): void {
    if (this.#recorded.has(id)) return;
    // What is not logged plays no part in what is played again.
    this.#recorded.set(id, policy as Policy);
  }

  get(id: string): Policy | undefined {
    return this.#recorded.get(id);
  }

  /** The rules with what the client asked for. */
  wished(
    policy: Policy,
    wish: { readonly patienceMs?: number; readonly maxAttempts?: number },
  ): Policy {
    const { patienceMs = policy.patienceMs, maxAttempts = policy.maxAttempts } = wish;
    if (patienceMs === policy.patienceMs && maxAttempts === policy.maxAttempts) return policy;
    const known = this.#wishes.get(policy) ?? new Map<string, Policy>();
    this.#wishes.set(policy, known);
    const key = `${patienceMs} ${maxAttempts}`;
    const made = known.get(key) ?? { ...policy, patienceMs, maxAttempts };
    if (known.size < MOST_WISHES) known.set(key, made);
    return made;
  }

  compare(before: Policy, policy: Policy): Difference {
    const known = this.#differences.get(before) ?? new WeakMap<Policy, Difference>();
    this.#differences.set(before, known);
    const found = known.get(policy);
    if (found) return found;
    const made = {
      judging: differs(before, policy, JUDGING),
      looksInto: bodyLook(before, policy),
      markers: differs(before, policy, ['markers']),
    };
    known.set(policy, made);
    this.#note(before, policy);
    return made;
  }

  changes(): readonly RuleChange[] {
    return [...this.#changes.values()];
  }

  #note(before: Policy, policy: Policy): void {
    const other = loggedPolicy(policy);
    for (const change of changedIn('', loggedPolicy(before), other)) {
      const key = `${change.key} ${JSON.stringify([change.recorded, change.whatIf])}`;
      if (this.#changes.size < MOST_CHANGES) this.#changes.set(key, change);
    }
  }
}

/** Through JSON both are alike in what they leave out. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null));

function differs(a: Policy, b: Policy, keys: readonly (keyof LoggedPolicy)[]): boolean {
  return keys.some((key) => !isDeepStrictEqual(plain(a[key]), plain(b[key])));
}

function bodyLook(before: Policy, policy: Policy): Difference['looksInto'] {
  if (differs(before, policy, ['markers'])) return () => true;
  const both = [before, policy];
  const replies = differs(before, policy, ['replies'])
    ? both.flatMap((rules) =>
        rules.replies.filter(({ when }) => when.bodyContains ?? when.bodyMatches),
      )
    : [];
  const expect = differs(before, policy, ['expect']) ? both.flatMap((rules) => rules.expect) : [];
  return (status) =>
    replies.some(({ when }) => when.statuses?.includes(status) ?? true) ||
    expect.some(({ when }) => when.statuses?.includes(status) ?? (status >= 200 && status < 300));
}

function changedIn(prefix: string, before: object, after: object): RuleChange[] {
  return Object.entries(after).flatMap(([key, value]: [string, unknown]) => {
    const was = plain((before as Record<string, unknown>)[key]);
    const is = plain(value);
    if (isDeepStrictEqual(was, is)) return [];
    const path = `${prefix}${key}`;
    if (isRecord(was) && isRecord(is)) return changedIn(`${path}.`, was, is);
    return [{ key: path, recorded: was, whatIf: is, replayed: !UNPLAYED.test(path) }];
  });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
