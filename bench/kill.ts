// Kills a loaded Forbear with SIGKILL, again and again, and asks what it has forgotten: node bench/kill.ts --times 200
import { parseArgs } from 'node:util';
import { killTrial } from '../test/support/kill-trial.ts';

const { values } = parseArgs({ options: { times: { type: 'string', default: '20' } } });
const times = Number(values.times);
const say = (text: string) => process.stdout.write(text);

const report = await killTrial(times, (n) => say(`\r${n} of ${times} kills`));
const { kills, replies, pauses, sessions, burned, letters, lost } = report;
say(`\n\n${kills} kills, ${replies} replies to clients before them\n`);
say(`| told to clients | times | forgotten |\n|---|---|---|\n`);
const forgotten = (word: string) => lost.filter((line) => line.startsWith(word)).length;
say(`| pauses (Retry-After of an hour) | ${pauses} | ${forgotten('pause')} |\n`);
say(`| sessions on a list of exits | ${sessions} | ${forgotten('session')} |\n`);
say(`| burned sessions | ${burned} | ${forgotten('burned')} |\n`);
say(`| dead letters | ${letters} | ${forgotten('letter')} |\n`);
for (const line of lost) say(`${line}\n`);
process.exitCode = lost.length === 0 ? 0 : 1;
