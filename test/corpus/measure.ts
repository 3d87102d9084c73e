import { findMarker } from '../../src/core/find-marker.ts';
import { throttleWords } from '../../src/core/throttle-text.ts';
import type { ResponseReply } from '../../src/core/verdict.ts';
import { blocks } from './blocks.ts';
import { goodReplies } from './good.ts';
import { type CorpusReply, replyOf } from './reply.ts';

/** What the markers made of one maker's pages. */
export interface MakerResult {
  readonly maker: string;
  readonly pages: number;
  readonly found: number;
  readonly missed: readonly string[];
}

export interface CorpusResult {
  readonly makers: readonly MakerResult[];
  readonly blocks: number;
  readonly found: number;
  readonly good: number;
  /** Good replies that were taken for blocks, and as what. */
  readonly falseAlarms: readonly string[];
  readonly bytes: number;
}

/** Puts the whole corpus before the markers. */
export async function measureCorpus(): Promise<CorpusResult> {
  const makers = new Map<string, { pages: number; missed: string[] }>();
  const all = blocks();
  for (const { maker, kind, sample } of all) {
    const result = makers.get(maker) ?? { pages: 0, missed: [] };
    makers.set(maker, result);
    result.pages += 1;
    const taken = takenFor(await replyOf(sample), sample.path);
    if (taken?.kind !== kind) result.missed.push(`${sample.name}: ${taken?.name ?? 'nothing'}`);
  }
  const good = goodReplies();
  const falseAlarms: string[] = [];
  for (const sample of good) {
    const taken = takenFor(await replyOf(sample), sample.path);
    if (taken !== undefined) falseAlarms.push(`${sample.name}: ${taken.name}`);
  }
  const results = [...makers].map(([maker, { pages, missed }]) => {
    return { maker, pages, missed, found: pages - missed.length };
  });
  return {
    makers: results,
    blocks: all.length,
    found: results.reduce((sum, { found }) => sum + found, 0),
    good: good.length,
    falseAlarms,
    bytes: sizeOf(all.map(({ sample }) => sample)) + sizeOf(good),
  };
}

function takenFor(reply: ResponseReply, path: string) {
  const marker = findMarker(reply, { path, markers: [] })?.marker;
  if (marker) {
    return { name: marker.id, kind: marker.kind === 'throttle' ? 'rate' : 'route' } as const;
  }
  const words = throttleWords(reply);
  return words === undefined ? undefined : ({ name: words, kind: 'rate' } as const);
}

const sizeOf = (samples: readonly CorpusReply[]): number =>
  samples.reduce((sum, { body }) => sum + body.length, 0);
