import type { Clock } from '../clock.ts';
import { askedFor, type Judge } from '../core/classify.ts';
import { findMarker } from '../core/find-marker.ts';
import { globMatches } from '../core/glob.ts';
import { type PageFacts, pageFacts } from '../core/page-facts.ts';
import { newPageMemory, type PageMemory, readPageMemory, remember } from '../core/page-memory.ts';
import { shortHash } from '../core/sketch.ts';
import { type Suspicion, suspicionOf } from '../core/soft-block.ts';
import type { Reply, Verdict } from '../core/verdict.ts';
import type { Emit } from '../telemetry/events.ts';
import type { KeptChange, KeptRow, KeptTable } from './kept.ts';
import type { Exchange, Lane, Route } from './ports.ts';

/** A reply with where it came from. */
export interface SeenReply {
  readonly exchange: Exchange;
  readonly lane: Lane;
  readonly route: Route;
  readonly reply: Reply;
}

/** What lanes remember of their pages. */
export interface Pages {
  /** Holds a reply against what its lane remembers; undefined where there is nothing to say. */
  look(seen: SeenReply): Suspicion | undefined;
  /** Lets a judged reply count, and tells what was suspicious about it. */
  record(seen: SeenReply, verdict: Verdict): void;
  /** What is remembered, by lane. JSON. */
  snapshot(): SavedPages;
  /** Takes back what `snapshot` gave, as it came out of the store. */
  restore(saved: unknown): void;
  /** The same, row by row. */
  readonly kept: KeptTable;
}

export interface SavedPages {
  readonly version: 1;
  readonly lanes: readonly (readonly [lane: string, memory: PageMemory])[];
}

export interface PagesDeps {
  readonly clock: Clock;
  readonly emit: Emit;
  readonly tools: Judge['tools'];
}

const MAX_LANES = 500;

/** Makes the memory of one proxy's pages. */
export function createPages(deps: PagesDeps): Pages {
  return new LanePages(deps);
}

interface Looked {
  readonly facts: PageFacts;
  readonly suspicion: Suspicion;
}

class LanePages implements Pages {
  readonly #deps: PagesDeps;
  /** The one used last stands last. */
  readonly #memories = new Map<string, PageMemory>();
  readonly kept: KeptTable = {
    name: 'pages',
    changes: () => this.#changes(),
    restore: (rows) => this.#restoreRows(rows),
  };
  readonly #changed = new Set<string>();
  /** Between `look` and `record`: the facts are read once. */
  readonly #looked = new WeakMap<Reply, Looked>();

  constructor(deps: PagesDeps) {
    this.#deps = deps;
  }

  look({ exchange, lane, reply }: SeenReply): Suspicion | undefined {
    const { policy, target } = exchange;
    if (reply.kind !== 'response' || policy.softBlocks.learned === 'off') return undefined;
    const facts = pageFacts(reply, {
      path: target.path,
      maxChars: policy.inspect.bytes,
      countItems: (html) => this.#countItems(exchange, html),
    });
    if (facts === undefined) return undefined;
    const suspicion = suspicionOf(this.#memories.get(lane.id) ?? newPageMemory, facts);
    this.#looked.set(reply, { facts, suspicion });
    return suspicion;
  }

  record(seen: SeenReply, verdict: Verdict): void {
    this.#tellMarker(seen);
    const looked = this.#looked.get(seen.reply);
    if (looked === undefined || !mayTeach(verdict)) return;
    const { lane, route, exchange } = seen;
    const { facts, suspicion } = looked;
    const old = this.#memories.get(lane.id) ?? newPageMemory;
    const { memory, changed } = remember(old, facts, suspicion, shortHash(route.id));
    this.#keep(lane.id, memory);
    this.#changed.add(lane.id);
    const at = this.#deps.clock.now();
    if (changed) this.#deps.emit({ type: 'site_changed', at, lane: lane.id, exchange });
    if (!suspicion.suspicious) return;
    this.#deps.emit({
      type: 'suspicious_reply',
      at,
      exchange,
      lane: lane.id,
      route,
      sign: 'learned',
      for: suspicion.signs.filter(({ weight }) => weight > 0).map(({ words }) => words),
      against: suspicion.signs.filter(({ weight }) => weight < 0).map(({ words }) => words),
      score: suspicion.total,
      enforced: verdict.evidence.kind === 'learned',
    });
  }

  snapshot(): SavedPages {
    return { version: 1, lanes: [...this.#memories] };
  }

  restore(saved: unknown): void {
    const lanes = (saved as Partial<SavedPages> | undefined)?.lanes;
    if (!Array.isArray(lanes)) return;
    for (const pair of lanes.slice(-MAX_LANES)) {
      if (!Array.isArray(pair) || typeof pair[0] !== 'string') continue;
      this.#keep(pair[0], readPageMemory(pair[1]));
    }
  }

  /** A marker that is only reported makes no verdict, so it is told here. */
  #tellMarker({ exchange, lane, route, reply }: SeenReply): void {
    const { policy, target, method } = exchange;
    if (reply.kind !== 'response' || policy.softBlocks.markers !== 'report') return;
    const { scheme, host, path } = target;
    const found = findMarker(reply, askedFor({ policy, request: { method, scheme, host, path } }));
    if (found === undefined) return;
    this.#deps.emit({
      type: 'suspicious_reply',
      at: this.#deps.clock.now(),
      exchange,
      lane: lane.id,
      route,
      sign: found.marker.id,
      for: found.signs,
      against: [],
      score: 1,
      enforced: false,
    });
  }

  #countItems({ policy, target }: Exchange, html: string): number | undefined {
    const rule = policy.expect.find(
      ({ css, when }) =>
        css !== undefined && (when.path === undefined || globMatches(when.path, target.path)),
    );
    return rule?.css && this.#deps.tools.countCss(html, rule.css.selector);
  }

  #keep(lane: string, memory: PageMemory): void {
    this.#memories.delete(lane);
    this.#memories.set(lane, memory);
    for (const oldest of this.#memories.keys()) {
      if (this.#memories.size <= MAX_LANES) return;
      this.#memories.delete(oldest);
      this.#changed.add(oldest);
    }
  }

  *#changes(): Generator<KeptChange> {
    const lanes = [...this.#changed];
    this.#changed.clear();
    for (const key of lanes) yield { key, value: this.#memories.get(key) };
  }

  #restoreRows(rows: readonly KeptRow[]): readonly string[] {
    for (const { key, value } of rows) this.#keep(key, readPageMemory(value));
    return [];
  }
}

/** A reply that failed teaches nothing, nor does one that needed a rule of the user's to be good. */
function mayTeach({ fault, evidence }: Verdict): boolean {
  return (fault === 'none' && evidence.kind !== 'rule') || evidence.kind === 'learned';
}
