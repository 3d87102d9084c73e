import { pageFacts } from '../../src/core/page-facts.ts';
import { newPageMemory, type PageMemory, remember } from '../../src/core/page-memory.ts';
import { type Suspicion, suspicionOf } from '../../src/core/soft-block.ts';
import type { ResponseReply } from '../../src/core/verdict.ts';
import { type BlockedSite, beforeRedesign, type CrawledSite, redesigned } from './crawled-site.ts';

/** What came of one reply of a crawl. */
export interface Step {
  readonly suspicion: Suspicion | undefined;
  readonly changed: boolean;
}

export interface Visit {
  readonly path: string;
  readonly reply: ResponseReply;
  readonly route?: string;
  /** Elements that the user's selector finds; undefined: the user has none. */
  readonly items?: number;
}

/** A crawl in which every reply is judged by what was learned from those before. */
export class Crawl {
  memory: PageMemory = newPageMemory;

  step(visit: Visit): Step {
    const facts = pageFacts(visit.reply, {
      path: visit.path,
      maxChars: 262_144,
      countItems: () => visit.items,
    });
    if (facts === undefined) return { suspicion: undefined, changed: false };
    const suspicion = suspicionOf(this.memory, facts);
    const { memory, changed } = remember(this.memory, facts, suspicion, visit.route ?? 'r1');
    this.memory = memory;
    return { suspicion, changed };
  }

  /** Whether a reply looks like a soft block. */
  suspects(path: string, reply: ResponseReply): boolean {
    return this.step({ path, reply }).suspicion?.suspicious ?? false;
  }
}

/** Honest crawls: how many replies there were, and which were suspected. */
export function measureHonest(site: CrawledSite, crawls: number, length: number) {
  const suspected: string[] = [];
  for (let c = 0; c < crawls; c++) {
    const crawl = new Crawl();
    for (let i = 0; i < length; i++) {
      const n = c * 5000 + i;
      const { suspicion } = crawl.step({ path: site.path(n), reply: site.reply(n) });
      if (suspicion?.suspicious)
        suspected.push(suspicion.signs.map(({ words }) => words).join('; '));
    }
  }
  return { replies: crawls * length, suspected };
}

/** A crawl that is found out after `before` replies: after how many more it is seen, and how many of `after` are. */
export function measureBlock(
  site: BlockedSite,
  o: { start: number; before: number; after: number },
) {
  const crawl = new Crawl();
  for (let i = 0; i < o.before; i++) {
    crawl.suspects(site.path(o.start + i), site.reply(o.start + i));
  }
  const seen = Array.from({ length: o.after }, (_, i) => {
    const n = o.start + o.before + i;
    return crawl.suspects(site.path(n), site.blocked(n));
  });
  const first = seen.indexOf(true);
  return { foundAfter: first === -1 ? undefined : first + 1, seen: seen.filter(Boolean).length };
}

/** A site that changes its looks: after how many replies the last was suspected, and how often the change was told. */
export function measureRedesign(start: number) {
  const crawl = new Crawl();
  for (let i = 0; i < 100; i++) crawl.suspects(`/p/${start + i}`, beforeRedesign(start + i));
  const steps = Array.from({ length: 200 }, (_, i) => {
    const n = start + 100 + i;
    return crawl.step({ path: `/p/${n}`, reply: redesigned(n), route: `r${n % 3}` });
  });
  return {
    letGoAfter: steps.findLastIndex(({ suspicion }) => suspicion?.suspicious) + 1,
    told: steps.filter(({ changed }) => changed).length,
  };
}
