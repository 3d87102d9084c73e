/** Any JSON value; the compiler cannot say so of cases, whose shapes are their kinds' own. */
type Json = unknown;

/** Makes a failing case smaller for as long as `fails` says it still fails, at most `ms`. */
export async function minimise<Case>(
  failing: Case,
  fails: (one: Case) => Promise<boolean>,
  o: { readonly ms: number; readonly now: () => number },
): Promise<Case> {
  const deadline = o.now() + o.ms;
  let smallest = failing;
  for (let progress = true; progress; ) {
    progress = false;
    for (const smaller of smallerThan(smallest)) {
      if (o.now() > deadline) return smallest;
      if (!(await fails(smaller as Case))) continue;
      smallest = smaller as Case;
      progress = true;
      break;
    }
  }
  return smallest;
}

/** Values that are smaller in one place, the boldest cuts first. */
function* smallerThan(value: Json): Generator<Json> {
  if (typeof value === 'string') yield* shorterTexts(value);
  else if (Array.isArray(value)) yield* shorterLists(value);
  else if (typeof value === 'number') yield* [0, Math.trunc(value / 2)].filter((n) => n < value);
  else if (typeof value === 'object' && value !== null) yield* smallerFields(value);
}

function* shorterTexts(text: string): Generator<string> {
  for (const [from, to] of cuts(text.length)) yield text.slice(0, from) + text.slice(to);
}

function* shorterLists(list: readonly Json[]): Generator<Json> {
  for (const [from, to] of cuts(list.length)) yield list.toSpliced(from, to - from);
  const joined = list.every((one) => typeof one === 'string');
  for (let i = 0; joined && i + 1 < list.length; i += 1) {
    yield list.toSpliced(i, 2, `${list[i]}${list[i + 1]}`);
  }
  for (const [i, one] of list.entries()) {
    for (const smaller of smallerThan(one)) yield list.with(i, smaller);
  }
}

function* smallerFields(value: object): Generator<Json> {
  for (const [key, one] of Object.entries(value)) {
    // A short word is a choice between some, and no half of one.
    if (typeof one === 'string' && /^[\w.]{0,12}$/.test(one)) continue;
    for (const smaller of smallerThan(one)) yield { ...value, [key]: smaller };
  }
}

/** Ranges to cut out: halves, quarters and so on down to single places. */
function* cuts(length: number): Generator<readonly [from: number, to: number]> {
  for (let size = length; size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < length; from += size) yield [from, Math.min(length, from + size)];
  }
}
