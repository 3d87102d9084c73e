import type { Seen } from './fidelity-origin.ts';

/** A kind of difference that docs/fidelity.md lists; `sees` are lines that are gone, and lines that are new. */
interface Kind {
  readonly id: string;
  readonly gone: RegExp | undefined;
  readonly came: RegExp | undefined;
}

/** What may differ in the head of a request. What none of these explains is told as it is. */
const KINDS: readonly Kind[] = [
  { id: 'version', gone: /^\S+ \S+ HTTP\/1\.0$/, came: /^\S+ \S+ HTTP\/1\.1$/ },
  { id: 'close', gone: /^Connection: close$/i, came: /^Connection: keep-alive$/i },
  { id: 'expect', gone: /^Expect: 100-continue$/i, came: undefined },
  { id: 'te', gone: /^TE: (?!trailers$)/i, came: undefined },
  { id: 'te', gone: /^Connection: TE, close$/i, came: /^Connection: keep-alive$/i },
  { id: 'empty', gone: /^[^:]+:$/, came: /^[^:]+: $/ },
];

/** The names of these kinds. */
export const KIND_NAMES: readonly string[] = KINDS.map(({ id }) => id);

/** The names of all differences between the same requests sent directly and through the proxy, in the order met. */
export function differences(direct: readonly Seen[], through: readonly Seen[]): string[] {
  if (direct.length !== through.length) {
    return [
      `${direct.length} requests became ${through.length}: ${through.map(whatOf).join(', ')}`,
    ];
  }
  const found = direct.flatMap((one, i) => between(one, through[i] as Seen));
  return [...new Set(found)];
}

function between(direct: Seen, through: Seen): string[] {
  const found: string[] = [];
  const told = (what: string) => found.push(`${whatOf(direct)}: ${what}`);
  if (direct.body !== through.body) told(`body ${direct.body} became ${through.body}`);
  if (direct.trailers.join() !== through.trailers.join()) told('trailers');
  const before = [direct.requestLine, ...direct.lines].map(masked);
  const after = [through.requestLine, ...through.lines].map(masked);
  const gone = less(before, after);
  const came = less(after, before);
  for (const kind of KINDS) {
    const [from, to] = [indexOf(gone, kind.gone), indexOf(came, kind.came)];
    if (from === -1 || to === -1) continue;
    found.push(kind.id);
    if (kind.gone) gone.splice(from, 1);
    if (kind.came) came.splice(to, 1);
  }
  for (const line of gone) told(`lost ${line}`);
  for (const line of came) told(`got ${line}`);
  if (!sameOrder(before, after)) told(`other order: ${before.join(' | ')} => ${after.join(' | ')}`);
  return found;
}

const whatOf = ({ scheme, requestLine }: Seen): string => `${scheme} ${requestLine}`;

/** Values that a client makes anew for each run. */
function masked(line: string): string {
  return line.replace(/^(npm-session: ).*/i, '$1*').replace(/(boundary=).*/, '$1*');
}

function less(lines: readonly string[], others: readonly string[]): string[] {
  const rest = [...others];
  return lines.filter((line) => {
    const at = rest.indexOf(line);
    if (at !== -1) rest.splice(at, 1);
    return at === -1;
  });
}

/** An index where nothing is asked for, too. */
const indexOf = (lines: readonly string[], wanted: RegExp | undefined): number =>
  wanted === undefined ? 0 : lines.findIndex((line) => wanted.test(line));

/** Whether the fields that both have come in the same order; the value may be another. */
function sameOrder(before: readonly string[], after: readonly string[]): boolean {
  const names = (lines: readonly string[]) => lines.slice(1).map((line) => line.split(':', 1)[0]);
  const [one, two] = [names(before), names(after)];
  const common = (mine: typeof one, theirs: typeof one) =>
    mine.filter((name) => theirs.includes(name)).join();
  return common(one, two) === common(two, one);
}
