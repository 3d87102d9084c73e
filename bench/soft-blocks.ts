// How well are soft blocks told from good pages, and what does it cost? Prints markdown tables.
import { gzipSync } from 'node:zlib';
import { classify } from '../src/core/classify.ts';
import { judgeTools } from '../src/judge-tools.ts';
import { prose, TONGUES } from '../test/corpus/filling.ts';
import { measureCorpus } from '../test/corpus/measure.ts';
import { replyOf } from '../test/corpus/reply.ts';
import { Crawl, measureBlock, measureHonest, measureRedesign } from '../test/support/crawl.ts';
import { BLOCKS, HONEST_SITES } from '../test/support/crawled-site.ts';
import { judge } from '../test/support/judging.ts';

const percent = (share: number): string => `${(share * 100).toFixed(2)} %`;
const print = (line = '') => process.stdout.write(`${line}\n`);

await markers();
learned();
await cost();

async function markers(): Promise<void> {
  const result = await measureCorpus();
  print('| maker | pages | found |\n|---|---|---|');
  for (const { maker, pages, found } of result.makers) print(`| ${maker} | ${pages} | ${found} |`);
  print(`| **all** | ${result.blocks} | **${percent(result.found / result.blocks)}** |`);
  print(`| good replies | ${result.good} | ${result.falseAlarms.length} false alarms |`);
  for (const { missed } of result.makers) for (const name of missed) print(`missed ${name}`);
  for (const name of result.falseAlarms) print(`false alarm ${name}`);
  print();
}

function learned(): void {
  print('| honest site | replies | suspected |\n|---|---|---|');
  let all = 0;
  let wrong = 0;
  for (const site of HONEST_SITES) {
    const { replies, suspected } = measureHonest(site, 5, 1000);
    all += replies;
    wrong += suspected.length;
    print(`| ${site.name} | ${replies} | ${suspected.length} |`);
  }
  print(`| **all** | ${all} | **${percent(wrong / all)}** |\n`);
  print('| found out, it serves | found after (worst of 5) | seen of 200 |\n|---|---|---|');
  for (const site of BLOCKS) {
    const runs = [0, 500, 1000, 1500, 2000].map((start) =>
      measureBlock(site, { start, before: 100, after: 40 }),
    );
    const worst = Math.max(...runs.map(({ foundAfter }) => foundAfter ?? Number.POSITIVE_INFINITY));
    print(`| ${site.name} | ${worst} | ${runs.reduce((sum, { seen }) => sum + seen, 0)} |`);
  }
  const { letGoAfter, told } = measureRedesign(0);
  print(`\nA new look is let go after ${letGoAfter} replies and told ${told} time(s).\n`);
}

/** CPU time of decoding, judging and remembering one page of 64 KiB. */
async function cost(): Promise<void> {
  const [tongue] = TONGUES;
  if (!tongue) return;
  const text = `<html><head><title>Pots | Shop</title></head><body>${prose(tongue, 64_000, 1)}</body></html>`;
  const shell = `<html><head><title>Shop</title></head><body><script>${'var a=1;'.repeat(8000)}</script><p>Hello</p></body></html>`;
  print(
    '| 64 KiB page | decode | markers and status | learned signs | all |\n|---|---|---|---|---|',
  );
  for (const [what, html] of [
    ['full of text', text],
    ['full of scripts', shell],
  ] as const) {
    const sample = {
      name: what,
      path: '/p/1',
      status: 200,
      rawHeaders: ['Content-Type', 'text/html', 'Content-Encoding', 'gzip'],
      body: gzipSync(html.slice(0, 65_536)),
    };
    const reply = await replyOf(sample);
    const crawl = new Crawl();
    const on = judge({ tools: judgeTools });
    const decoding = await cpuMs(() => replyOf(sample));
    const judging = await cpuMs(() => classify(reply, on));
    const learning = await cpuMs(() => crawl.step({ path: '/p/1', reply }));
    const parts = [decoding, judging, learning, decoding + judging + learning];
    print(`| ${what} | ${parts.map((ms) => `${ms.toFixed(3)} ms`).join(' | ')} |`);
  }
}

/** The quickest of some rounds: whatever else runs on the machine only makes them slower. */
async function cpuMs(work: () => unknown): Promise<number> {
  const runs = 100;
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 12; round++) {
    const before = process.cpuUsage();
    for (let i = 0; i < runs; i++) await work();
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / 1000 / runs);
  }
  return best;
}
