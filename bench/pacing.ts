// Which law learns a site's limit with few throttles and little loss? In virtual time; prints a markdown table.
import { bracket, cubic, pauseOnly } from './pacing-laws.ts';
import { measure, type Row, scenarios } from './pacing-scenarios.ts';

process.stdout.write(
  '| site | law | time / ideal (median) | worst | throttles | strikes | sent / done |\n',
);
process.stdout.write('|---|---|---|---|---|---|---|\n');
for (const scenario of scenarios()) {
  print(scenario.name, 'pause only', measure(pauseOnly, scenario));
  print('', 'CUBIC', measure(cubic, scenario));
  print('', '**bracket (src/core)**', measure(bracket, scenario));
}

function print(site: string, law: string, row: Row): void {
  const { median, worst, events, strikes, sentPerDone } = row;
  const cells = [
    median.toFixed(2),
    worst.toFixed(2),
    events.toFixed(1),
    strikes,
    sentPerDone.toFixed(3),
  ];
  process.stdout.write(`| ${[site, law, ...cells].join(' | ')} |\n`);
}
