// Who is at fault for a timeout? Networks with known causes, in virtual time, through the real loop, lanes and routes.
// Prints a markdown table. Flags: --seeds 5
import { parseArgs } from 'node:util';
import { worlds } from '../test/support/diagnosis-worlds.ts';
import { type Cause, live, type Story } from '../test/support/simulated-network.ts';

const { values: flags } = parseArgs({ options: { seeds: { type: 'string', default: '5' } } });
const CAUSES: readonly Cause[] = ['site', 'route', 'load', 'local'];

process.stdout.write(
  '| what is wrong | timeouts judged | right | named site | route | load | local | healthy routes ejected | exchanges that ended well |\n',
);
process.stdout.write('|---|---|---|---|---|---|---|---|---|\n');
for (const { name, world } of worlds) {
  const stories: Story[] = [];
  for (let seed = 1; seed <= Number(flags.seeds); seed += 1) stories.push(await live(world, seed));
  const judged = stories.flatMap((story) => story.judged);
  const right = judged.filter(({ causes, named }) => causes.includes(named)).length;
  const sum = (of: (story: Story) => number) =>
    stories.reduce((total, story) => total + of(story), 0);
  const well = sum((story) => story.answered);
  const cells = [
    name,
    judged.length,
    `${((100 * right) / judged.length).toFixed(1)} %`,
    ...CAUSES.map((cause) => judged.filter(({ named }) => named === cause).length),
    sum((story) => story.wronged),
    `${((100 * well) / (well + sum((story) => story.gaveUp))).toFixed(1)} %`,
  ];
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
}
