import {
  continuation,
  type Field,
  FLAG,
  frame,
  goaway,
  headers,
  hpack,
  PREFACE,
  ping,
  request,
  rstStream,
  SETTING,
  settings,
  settingsAck,
  TYPE,
  windowUpdate,
} from '../support/h2-frames.ts';
import type { Dice } from './dice.ts';
import { mutated } from './mutate.ts';

/** Frames of an HTTP/2 client inside an opened tunnel, each one a piece of its own. */
export interface H2Case {
  readonly pieces: readonly string[];
  readonly end: 'stay' | 'fin' | 'reset';
}

const HOST = 'o.test';
const ODD_FIELDS: readonly Field[] = [
  ['cookie', 'a=b'],
  ['cookie', 'c=d'],
  ['te', 'trailers'],
  ['te', 'gzip'],
  ['connection', 'close'],
  ['transfer-encoding', 'chunked'],
  ['host', 'o.test'],
  ['host', 'other.test'],
  ['X-Upper', '1'],
  ['x-latin', '\xe9'],
  ['x-line', 'a\r\nb'],
  ['', 'nameless'],
  [':late', '1'],
  [':path', '/twice'],
  ['forbear-session', 's1'],
  ['forbear-nonsense', '1'],
  ['proxy-authorization', 'Basic eA=='],
  ['expect', '100-continue'],
  ['content-length', '7'],
  ['x-long', 'y'.repeat(5000)],
];

/** A connection of an HTTP/2 client: requests, and frames in the wrong place, of the wrong size, or with wrong words. */
export function makeH2Case(dice: Dice): H2Case {
  const frames = [PREFACE, settings()];
  const ids = new Ids(dice);
  for (let left = dice.between(1, 12); left > 0; left -= 1) frames.push(...step(dice, ids));
  const pieces = frames.map((bytes) => bytes.toString('latin1'));
  if (dice.oneIn(3)) {
    const at = dice.below(pieces.length);
    pieces[at] = mutated(pieces[at] ?? '', dice, ['\0', '\xff', '\x01', '\0\0\0']);
  }
  if (dice.oneIn(8)) pieces.splice(dice.below(pieces.length), 1);
  return { pieces, end: dice.pick(['stay', 'stay', 'stay', 'fin', 'reset'] as const) };
}

/** Stream numbers: mostly the next one. */
class Ids {
  #last = -1;
  readonly #dice: Dice;

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  next(): number {
    if (!this.#dice.oneIn(20)) this.#last += 2;
    return this.#dice.oneIn(30) ? this.#dice.between(0, 20) : Math.max(1, this.#last);
  }

  /** One that has been, or will be. */
  any(): number {
    return this.#dice.oneIn(8)
      ? this.#dice.pick([0, 2, 1001, 2 ** 31 - 1])
      : Math.max(1, this.#last);
  }
}

function step(dice: Dice, ids: Ids): Buffer[] {
  switch (dice.below(10)) {
    case 0:
    case 1:
    case 2:
      return [headers(ids.next(), fields(dice, 'GET'))];
    case 3:
    case 4:
      return upload(dice, ids.next());
    case 5:
      return inParts(dice, ids.next());
    default:
      return [control(dice, ids)];
  }
}

function fields(dice: Dice, method: string): Field[] {
  const path = `/h${dice.word(6)}`;
  const asked = request(path, HOST).map(
    ([name, value]): Field => (name === ':method' ? [name, method] : [name, value]),
  );
  if (dice.oneIn(12)) asked.splice(dice.below(asked.length), 1);
  if (dice.oneIn(12)) asked.push(asked.shift() as Field);
  const more = dice.oneIn(2) ? [] : dice.some(3, () => dice.pick(ODD_FIELDS));
  return [...asked, ...more];
}

function upload(dice: Dice, id: number): Buffer[] {
  const parts = dice.some(3, () => dice.bytes(dice.size(3000)));
  const length = parts.join('').length + (dice.oneIn(8) ? 1 : 0);
  const told: Field[] = dice.oneIn(2) ? [['content-length', String(length)]] : [];
  const head = headers(id, [...fields(dice, 'POST'), ...told], FLAG.endHeaders);
  const bodies = parts.map((part) => dataFrame(dice, id, part, 0));
  if (dice.oneIn(6)) return [head, ...bodies];
  const isTrailed = dice.oneIn(4);
  const last = isTrailed ? headers(id, [['x-sum', '1']]) : dataFrame(dice, id, '', FLAG.endStream);
  return [head, ...bodies, last];
}

function dataFrame(dice: Dice, id: number, part: string, flags: number): Buffer {
  const bytes = Buffer.from(part, 'latin1');
  if (!dice.oneIn(6)) return frame(TYPE.data, flags, id, bytes);
  const padding = Buffer.alloc(dice.between(0, 20));
  const told = Buffer.from([dice.oneIn(5) ? dice.below(256) : padding.length]);
  return frame(TYPE.data, flags | FLAG.padded, id, Buffer.concat([told, bytes, padding]));
}

/** A field block spread over frames. */
function inParts(dice: Dice, id: number): Buffer[] {
  const block = hpack(fields(dice, 'GET'));
  const cut = dice.between(0, block.length);
  const between = dice.oneIn(5) ? [ping()] : [];
  const end = dice.oneIn(8) ? 0 : FLAG.endHeaders;
  return [
    frame(TYPE.headers, FLAG.endStream, id, block.subarray(0, cut)),
    ...between,
    continuation(dice.oneIn(10) ? id + 2 : id, block.subarray(cut), end),
  ];
}

function control(dice: Dice, ids: Ids): Buffer {
  switch (dice.below(10)) {
    case 0:
      return ping(Buffer.alloc(dice.oneIn(5) ? dice.below(20) : 8));
    case 1:
      return settings([
        dice.pick(Object.values(SETTING)),
        dice.pick([1, 16_384, 65_535, 2 ** 31, 2 ** 32 - 1]),
      ]);
    case 2:
      return dice.oneIn(2) ? settingsAck() : frame(TYPE.settings, 0, ids.any(), dice.bytesOf(5));
    case 3:
      return windowUpdate(ids.any(), dice.pick([0, 1, 1000, 2 ** 31 - 1]));
    case 4:
      return rstStream(ids.any(), dice.below(15));
    case 5:
      return dice.oneIn(3) ? goaway(ids.any(), dice.below(15)) : ping();
    case 6:
      return frame(TYPE.priority, 0, ids.any(), dice.bytesOf(5));
    case 7:
      return frame(TYPE.pushPromise, FLAG.endHeaders, ids.any(), dice.bytesOf(8));
    case 8:
      return frame(dice.between(10, 255), dice.below(256), ids.any(), dice.bytesOf(dice.size(200)));
    default:
      return frame(
        dice.below(10),
        dice.below(256),
        ids.any(),
        dice.bytesOf(dice.size(50)),
        dice.size(70_000),
      );
  }
}
