// Stops a loaded Forbear with SIGTERM, again and again, and counts who got no answer: node bench/drain.ts --times 100
import { parseArgs } from 'node:util';
import { drainTrial } from '../test/support/drain-trial.ts';

const { values } = parseArgs({ options: { times: { type: 'string', default: '20' } } });
const times = Number(values.times);
const say = (text: string) => process.stdout.write(text);

const report = await drainTrial(times, (n) => say(`\r${n} of ${times} stops`));
say(`\n\n| ${report.stops} stops under load | requests |\n|---|---|\n`);
say(`| answered | ${report.answered} |\n`);
say(`| answered that it stops (503, Retry-After) | ${report.turnedAway} |\n`);
say(`| came when nobody listened any more | ${report.tooLate} |\n`);
say(`| reset by the system, which had let them in as the door was shut | ${report.atTheDoor} |\n`);
say(`| without an answer, or a stop that did not end with 0 | ${report.bad.length} |\n`);
say(`\nlongest stop: ${report.longestStopMs} ms\n`);
for (const line of report.bad) say(`${line}\n`);
process.exitCode = report.bad.length === 0 ? 0 : 1;
