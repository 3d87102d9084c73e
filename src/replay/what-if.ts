import type { Config } from '../config/config.ts';
import { policyFor } from '../config/resolve.ts';
import type { Action, Progress } from '../core/action.ts';
import type { Judge } from '../core/classify.ts';
import { decide } from '../core/decide.ts';
import type { Policy } from '../core/policy.ts';
import type { Verdict } from '../core/verdict.ts';
import type { AttemptLine, EndLine, LogEntry, LoggedAction } from '../telemetry/attempt-line.ts';
import type { LoggedBasis } from '../telemetry/logged-basis.ts';
import { sameVerdict, tell, waitMs } from './comparison.ts';
import { Findings, type HostFindings, type LaneFindings } from './findings.ts';
import type { HostWorld } from './host-world.ts';
import { type HostPair, Hosts } from './hosts.ts';
import { judgeAgain, progressAgain } from './judge-again.ts';
import { type RuleChange, RuleSets } from './rule-sets.ts';

export interface WhatIfOptions {
  readonly config: Config;
  readonly tools: Judge['tools'];
  /** Of this program. */
  readonly version: string;
  /** How many exchanges are named behind each number. */
  readonly examples: number;
  /** `assume`: a wait of another length is taken to bring the same reply. */
  readonly afterOtherWaits: 'end' | 'assume';
}

/** Exchanges that went another way, of which no more than these are remembered. */
const MOST_EXCHANGES = 200_000;
const MOST_POLICIES = 20_000;

/** An exchange that is not as it was: it ended, or its waits were of another length. */
interface Course {
  ended: boolean;
  lateMs: number;
  lastDelayMs: number | undefined;
}

/** An attempt, with the rules that it was made under and the other ones. */
interface Case {
  readonly line: AttemptLine;
  readonly basis: LoggedBasis;
  readonly before: Policy;
  readonly policy: Policy;
  readonly pair: HostPair;
  readonly lane: LaneFindings;
}

/**
 * Judges recorded attempts again under another configuration. Both sets of rules are played on the same attempts, so
 * that only what the rules change is told; and an exchange is followed to its first different step, for nobody knows
 * what would have come back after another one.
 */
export class WhatIf {
  readonly findings: Findings;
  readonly #o: WhatIfOptions;
  readonly #rules: RuleSets;
  readonly #hosts = new Hosts();
  /** No target asks for a path: then what a host's requests live under is looked up once. */
  readonly #isPathless: boolean;
  readonly #policies = new Map<string, Policy>();
  #isOtherVersion = true;
  /** The oldest first. */
  readonly #courses = new Map<string, Course>();

  constructor(options: WhatIfOptions) {
    this.#o = options;
    this.findings = new Findings(options.examples);
    this.#rules = new RuleSets();
    this.#isPathless = options.config.targets.every(({ match }) => match.path === undefined);
  }

  /** Takes the next entry; false: its insides are not what they should be. */
  take(entry: LogEntry): boolean {
    try {
      this.#take(entry);
      return true;
    } catch {
      return false;
    }
  }

  #take(entry: LogEntry): void {
    switch (entry.kind) {
      case 'head':
        this.#isOtherVersion = entry.forbear !== this.#o.version;
        return;
      case 'gap':
        this.findings.limits.missingLines += entry.lines;
        return;
      case 'policy':
        this.#rules.add(entry);
        return;
      case 'attempt':
        this.#attempt(entry);
        return;
      case 'end':
        this.#end(entry);
        return;
    }
  }

  /** Rules that are not the same in the configuration. */
  changes(): readonly RuleChange[] {
    return this.#rules.changes();
  }

  /** Hosts that would have fared differently. */
  hosts(): readonly HostFindings[] {
    return this.#hosts.different();
  }

  #attempt(line: AttemptLine): void {
    const { findings } = this;
    const { limits } = findings;
    findings.attempts += 1;
    if (line.n === 1) findings.exchanges += 1;
    const before = this.#rules.get(line.policy);
    if (before === undefined) {
      findings.count(limits.unknownRules, line.exchange);
      return;
    }
    const pair = this.#hosts.pair(line.authority);
    if (this.#courses.get(line.exchange)?.ended) {
      book(pair.before, line, before);
      findings.count(limits.behind, line.exchange);
      return;
    }
    const policy = this.#policyFor(line, before);
    const { basis } = line;
    if (basis === undefined) {
      book(pair.before, line, before);
      book(pair.other, line, policy);
      findings.count(limits.parts, line.exchange);
      return;
    }
    const lane = findings.lane(line.lane);
    this.#compare({ line, basis, before, policy, pair, lane });
    findings.compared += 1;
    lane.attempts += 1;
  }

  #compare(one: Case): void {
    const { line, before, policy, pair, lane } = one;
    const startedAt = line.at - line.ms;
    const hold = pair.other.holds(startedAt);
    if (hold !== undefined && pair.before.holds(startedAt) === undefined) {
      book(pair.before, line, before);
      this.findings.count(lane.held[hold], line.exchange);
      this.#ends(line);
      return;
    }
    const verdict = this.#judge(one);
    pair.before.record(line, before, line.verdict);
    pair.other.record(line, policy, verdict);
    const action = decide(verdict, this.#progress(one), policy);
    if (isCharged(line.action)) pair.before.withdraw(before, line.at);
    if (isCharged(action)) pair.other.withdraw(policy, line.at);
    const found = tell(this.findings, lane, { recorded: line, whatIf: { verdict, action } });
    if (found === 'other') this.#ends(line);
    if (found === 'other_length') this.#goesOn(line, action);
  }

  #judge(one: Case): Verdict {
    const { line, basis, before, policy } = one;
    const { limits } = this.findings;
    const change = this.#rules.compare(before, policy);
    const markers = change.markers || this.#isOtherVersion ? 'maybe_others' : 'as_recorded';
    const blockedAddresses = blockedNow(one) ?? basis.blockedAddresses ?? NONE;
    const isSame = !change.judging && blockedAddresses === (basis.blockedAddresses ?? NONE);
    // Who saw the whole body judged by these very rules.
    if (isSame && !this.#isOtherVersion && isCut(line)) return line.verdict;
    const { tools } = this.#o;
    const verdict = judgeAgain({ line, basis, policy, blockedAddresses, markers, tools });
    if (isCut(line) && change.looksInto(statusOf(line))) {
      this.findings.count(limits.unseenBodies, line.exchange);
    }
    if (isSame && !sameVerdict(line.verdict, verdict)) {
      this.findings.count(limits.drift, line.exchange);
    }
    return verdict;
  }

  /** Where both worlds agree the record has the last word: it knows the dice, and what was before the log. */
  #progress(one: Case): Progress {
    const { line, basis, before, policy, pair } = one;
    const { progress } = basis;
    const was = pair.before.budgetLeft(before, line.at) > 0;
    const is = pair.other.budgetLeft(policy, line.at) > 0;
    const failures = pair.other.failuresInRow - pair.before.failuresInRow;
    const samePause = pair.other.pausedUntil === pair.before.pausedUntil;
    const course = this.#courses.get(line.exchange);
    return progressAgain({
      line,
      basis,
      before,
      policy,
      lane: {
        budgetLeft: was === is ? (progress.budgetLeft ?? true) : is,
        laneFailures: Math.max(0, (progress.laneFailures ?? 0) + failures),
        pausedUntil: samePause ? (progress.pausedUntil ?? 0) : pair.other.pausedUntil,
      },
      lateMs: course?.lateMs ?? 0,
      lastDelayMs: course?.lastDelayMs,
    });
  }

  /** After a wait of another length. */
  #goesOn(line: AttemptLine, action: Action): void {
    if (this.#o.afterOtherWaits === 'end') {
      this.#ends(line);
      return;
    }
    const lateMs =
      (this.#courses.get(line.exchange)?.lateMs ?? 0) + waitMs(action) - waitMs(line.action);
    this.#differs(line.exchange, { ended: false, lateMs, lastDelayMs: waitMs(action) });
  }

  #ends({ exchange }: AttemptLine): void {
    this.#differs(exchange, { ended: true, lateMs: 0, lastDelayMs: undefined });
  }

  #differs(exchange: string, course: Course): void {
    const { findings } = this;
    if (!this.#courses.has(exchange)) findings.count(findings.different, exchange);
    this.#courses.set(exchange, course);
    if (this.#courses.size <= MOST_EXCHANGES) return;
    for (const [oldest] of this.#courses) {
      this.#courses.delete(oldest);
      return;
    }
  }

  #end({ exchange, lane, stop, at }: EndLine): void {
    const course = this.#courses.get(exchange);
    this.#courses.delete(exchange);
    if (course?.ended || (stop !== 'breaker_open' && stop !== 'lane_paused')) return;
    const pair = this.#hosts.known(lane.split('#', 1)[0] ?? lane);
    if (pair?.before.holds(at) === undefined || pair.other.holds(at) !== undefined) return;
    this.findings.count(this.findings.lane(lane).held.released, exchange);
    if (course === undefined) this.findings.count(this.findings.different, exchange);
  }

  #policyFor({ request, authority }: AttemptLine, before: Policy): Policy {
    const policy = this.#configured(request, authority);
    const { wished, redrive } = request;
    // A redrive has a patience of its own.
    return this.#rules.wished(policy, redrive ? { patienceMs: before.patienceMs } : (wished ?? {}));
  }

  #configured(request: AttemptLine['request'], authority: string): Policy {
    const { host, path, method, client, profile } = request;
    const asked = { host, authority, path, method, client, profile };
    if (!this.#isPathless) return policyFor(this.#o.config, asked).policy;
    const key = `${host} ${authority} ${method} ${client} ${profile}`;
    const known = this.#policies.get(key);
    if (known) return known;
    const { policy } = policyFor(this.#o.config, asked);
    if (this.#policies.size < MOST_POLICIES) this.#policies.set(key, policy);
    return policy;
  }
}

/** An attempt whose step is not compared, as it was recorded. */
function book(world: HostWorld, line: AttemptLine, policy: Policy): void {
  world.record(line, policy, line.verdict);
  if (isCharged(line.action)) world.withdraw(policy, line.at);
}

const NONE: readonly string[] = [];

/** The addresses that met a 403 by then, where they would have been others; nothing else asks for them. */
function blockedNow({ line, pair }: Case): readonly string[] | undefined {
  if (line.reply.kind === 'failure' || line.reply.status !== 403) return undefined;
  const { path } = line.request;
  const is = pair.other.blockedAddresses(path, line.at);
  return pair.before.blockedAddresses(path, line.at).length === is.length ? undefined : is;
}

const isCharged = (action: Action | LoggedAction): boolean => 'charged' in action && action.charged;

const statusOf = ({ reply }: AttemptLine): number => (reply.kind === 'response' ? reply.status : 0);

const isCut = ({ reply }: AttemptLine): boolean =>
  reply.kind === 'response' && reply.body.kind === 'seen' && reply.body.chars !== undefined;
