/** A number, with the first of the exchanges behind it. */
export interface Tally {
  count: number;
  readonly exchanges: string[];
}

/** What would have been different in one lane. All that is compared lies before the first difference of an exchange. */
export interface LaneFindings {
  readonly lane: string;
  attempts: number;
  /** `host/overloaded -> route/blocked`. */
  readonly verdicts: Map<string, Tally>;
  /** `wait -> fail: retry_budget_spent`. */
  readonly actions: Map<string, Tally>;
  readonly waits: {
    recordedMs: number;
    whatIfMs: number;
    readonly longer: Tally;
    readonly shorter: Tally;
  };
  readonly rotations: { recorded: number; whatIf: number };
  readonly budget: { recordedDenials: number; whatIfDenials: number };
  /** Attempts that would not have started then, and refused exchanges that would have been sent. */
  readonly held: { readonly breaker: Tally; readonly pause: Tally; readonly released: Tally };
}

/** How the host's shared state would have fared, under the rules then and under the others. */
export interface HostFindings {
  readonly host: string;
  readonly trips: Compared;
  readonly pauses: Compared;
  /** The least that the retry budget had left; null where nothing was decided. */
  readonly lowestBudget: { readonly recorded: number | null; readonly whatIf: number | null };
}

export interface Compared {
  readonly recorded: number;
  readonly whatIf: number;
}

/** Of what was not compared, and why. */
export interface Limits {
  /** Attempts behind the first difference of their exchange: their replies would have been others. */
  readonly behind: Tally;
  /** Requests for the rest of a body. */
  readonly parts: Tally;
  /** Their rules are not in the log. */
  readonly unknownRules: Tally;
  /** Bodies that were not kept whole, under rules that look into bodies. */
  readonly unseenBodies: Tally;
  /** Judged differently although the rules of judgement are the same: by another version, or on facts that were left out. */
  readonly drift: Tally;
  /** Lines that were lost when the log was written. */
  missingLines: number;
}

const MOST_LANES = 5_000;
const OTHER = '(other lanes)';
/** There are far fewer; a file that was written by somebody else may hold any words. */
const MOST_KINDS = 200;
const OTHER_KINDS = '(others)';

/** Gathers what is found, within bounds: a number of examples for each number, and a number of lanes. */
export class Findings {
  attempts = 0;
  compared = 0;
  exchanges = 0;
  readonly different = tally();
  readonly limits: Limits = {
    behind: tally(),
    parts: tally(),
    unknownRules: tally(),
    unseenBodies: tally(),
    drift: tally(),
    missingLines: 0,
  };
  readonly lanes = new Map<string, LaneFindings>();
  readonly #examples: number;

  constructor(examples: number) {
    this.#examples = examples;
  }

  lane(id: string): LaneFindings {
    const known = this.lanes.get(id);
    if (known) return known;
    const lane = this.lanes.size < MOST_LANES || id === OTHER ? id : OTHER;
    if (lane !== id && this.lanes.has(OTHER)) return this.lane(OTHER);
    const made: LaneFindings = {
      lane,
      attempts: 0,
      verdicts: new Map(),
      actions: new Map(),
      waits: { recordedMs: 0, whatIfMs: 0, longer: tally(), shorter: tally() },
      rotations: { recorded: 0, whatIf: 0 },
      budget: { recordedDenials: 0, whatIfDenials: 0 },
      held: { breaker: tally(), pause: tally(), released: tally() },
    };
    this.lanes.set(lane, made);
    return made;
  }

  /** One more, with its exchange as an example. */
  count(into: Tally, exchange: string): void {
    into.count += 1;
    if (into.exchanges.length < this.#examples && into.exchanges.at(-1) !== exchange) {
      into.exchanges.push(exchange);
    }
  }

  countIn(into: Map<string, Tally>, what: string, exchange: string): void {
    const key = into.size < MOST_KINDS || into.has(what) ? what : OTHER_KINDS;
    const known = into.get(key) ?? tally();
    into.set(key, known);
    this.count(known, exchange);
  }
}

const tally = (): Tally => ({ count: 0, exchanges: [] });
