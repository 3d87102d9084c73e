import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import { followCoding } from '../../src/attempt/coding-end.ts';
import { decode } from '../../src/attempt/decode.ts';
import type { Dice } from './dice.ts';
import { type Complaint, firstOf, type Kind, pureBench, shown, unless } from './kind.ts';

/** A coded body, and what was done to it. */
interface CodedCase {
  readonly label: string;
  /** As it was before it was coded: parts, each one member or frame of its own. */
  readonly parts: readonly string[];
  /** Each part this many times over: above a few thousand it is a bomb. */
  readonly times: number;
  /** From the inside out. */
  readonly codings: readonly Coding[];
  readonly damage: Damage;
  readonly maxBytes: number;
  readonly whole: boolean;
  /** The sizes of the pieces in which it comes. */
  readonly pieceBytes: number;
}

type Coding = 'gzip' | 'deflate' | 'raw' | 'br' | 'zstd';
type Damage =
  | { readonly kind: 'none' }
  /** Cut off at this share of its bytes, in thousandths. */
  | { readonly kind: 'cut'; readonly at: number }
  | { readonly kind: 'behind'; readonly bytes: string }
  | { readonly kind: 'flipped'; readonly at: number; readonly bit: number };

const CODINGS: readonly Coding[] = ['gzip', 'gzip', 'deflate', 'raw', 'br', 'zstd'];
const LABELS: Readonly<Record<Coding, string>> = {
  gzip: 'gzip',
  deflate: 'deflate',
  raw: 'deflate',
  br: 'br',
  zstd: 'zstd',
};

/** Coded bodies through what takes the codings off, and what tells whether they have come to their end. */
export const codings: Kind<CodedCase> = { name: 'codings', make, open: () => pureBench(play) };

function make(dice: Dice): CodedCase {
  const codings = dice.oneIn(6) ? [dice.pick(CODINGS), dice.pick(CODINGS)] : [dice.pick(CODINGS)];
  const honest = codings.map((coding) => LABELS[coding]).join(dice.pick([', ', ',', ' ,\t']));
  const odd = [
    'gzip',
    'br',
    'zstd',
    'deflate',
    'x-gzip',
    'identity',
    'GZIP',
    '',
    'lzma',
    ',,gzip,',
  ];
  const isBomb = dice.oneIn(40);
  const text = () => (dice.oneIn(3) ? dice.bytes(dice.size(5000)) : dice.word(dice.size(5000)));
  return {
    label: dice.oneIn(8) ? dice.pick(odd) : honest,
    parts: Array.from({ length: dice.oneIn(5) ? dice.between(2, 4) : 1 }, text),
    times: isBomb ? dice.between(5_000, 50_000) : dice.between(1, 3),
    codings,
    damage: damage(dice),
    maxBytes: dice.pick([1, 100, 4096, 65_536, 262_144]),
    whole: !dice.oneIn(4),
    pieceBytes: dice.pick([1, 7, 100, 5_000, 1_000_000]),
  };
}

function damage(dice: Dice): Damage {
  switch (dice.below(5)) {
    case 0:
      return { kind: 'cut', at: dice.below(1000) };
    case 1:
      return { kind: 'behind', bytes: dice.bytes(dice.between(1, 30)) };
    case 2:
      return { kind: 'flipped', at: dice.below(100_000), bit: dice.below(8) };
    default:
      return { kind: 'none' };
  }
}

async function play(one: CodedCase): Promise<Complaint | undefined> {
  const plains = one.parts.map((part) =>
    Buffer.from(part.slice(0, 2000).repeat(one.times), 'latin1'),
  );
  const coded = Buffer.concat(plains.map((plain) => encoded(plain, one.codings)));
  const bytes = damaged(coded, one.damage);
  const { maxBytes, whole } = one;
  const decoded = await decode(bytes, one.label, { maxBytes, whole });
  const end = await followed(bytes, one);
  const isHonest = one.label.toLowerCase().replaceAll(/\s/g, '') === labelOf(one);
  return firstOf(
    unless(decoded.bytes.length <= maxBytes, 'above_the_bound', () => `${decoded.bytes.length}`),
    unless(whole || decoded.coding !== 'cut_short', 'cut_though_not_whole', () => ''),
    isHonest ? checkHonest({ one, bytes, plains, decoded, end }) : undefined,
  );
}

const labelOf = ({ codings }: CodedCase): string => codings.map((name) => LABELS[name]).join(',');

interface Result {
  readonly one: CodedCase;
  readonly bytes: Buffer;
  readonly plains: readonly Buffer[];
  readonly decoded: Awaited<ReturnType<typeof decode>>;
  readonly end: 'whole' | 'short' | undefined;
}

/** What must come out where the label is right, and nothing was turned over. */
function checkHonest(result: Result): Complaint | undefined {
  const { one, bytes, plains, decoded, end } = result;
  const { damage } = one;
  if (damage.kind === 'flipped' || bytes.length === 0) return undefined;
  const isLone = plains.length === 1 && one.codings.length === 1;
  const plain = Buffer.concat(plains);
  const detail = () => `${decoded.coding} ${end} ${shown(decoded.bytes.toString('latin1'))}`;
  const isPrefix = plain.subarray(0, decoded.bytes.length).equals(decoded.bytes);
  const isFirst = plains[0]?.equals(decoded.bytes) === true;
  const given = bytes.subarray(0, decoded.bytes.length).equals(decoded.bytes);
  const isMade = decoded.coding !== 'broken' && decoded.coding !== 'unknown';
  if (one.codings.length > 1) return unless(isPrefix || given, 'other_bytes', detail);
  return firstOf(
    unless(isPrefix || isFirst || given || !isMade, 'other_bytes', detail),
    damage.kind === 'none' && isLone ? checkWhole(result, plain) : undefined,
    damage.kind === 'cut' && isLone ? checkCut(result, plain) : undefined,
    damage.kind === 'behind' && isLone ? checkBehind(result) : undefined,
  );
}

function checkWhole({ one, decoded, end }: Result, plain: Buffer): Complaint | undefined {
  const { coding, bytes } = decoded;
  const expected = plain.subarray(0, one.maxBytes);
  const detail = () => `${coding} ${end} ${bytes.length} of ${expected.length}`;
  return firstOf(
    unless(end !== 'short', 'whole_called_short', detail),
    unless(coding === 'ok' || coding === 'bomb', 'whole_called_otherwise', detail),
    unless(coding !== 'ok' || bytes.equals(expected), 'not_the_whole', detail),
    unless(coding !== 'bomb' || one.times > 100, 'page_called_bomb', detail),
  );
}

/** What comes behind the end of a body is nobody's business; gzip is read as browsers read it. */
function checkBehind({ one, decoded, end }: Result): Complaint | undefined {
  const detail = () => `${decoded.coding} ${end}`;
  const behind = one.damage.kind === 'behind' ? one.damage.bytes : '';
  const isTaken = decoded.coding === 'ok' || decoded.coding === 'bomb';
  // It may well look like the start of one more frame.
  const isFrame = one.codings[0] === 'zstd' && behind.length < 4 && /^[(P-_]/.test(behind);
  return firstOf(
    unless(end !== 'short' || isFrame, 'whole_called_short', detail),
    unless(isTaken || one.codings[0] !== 'gzip', 'whole_called_broken', detail),
  );
}

/** A body cut before the end of its data is short; where only a checksum went, nobody can complain. */
function checkCut({ one, bytes, decoded, end }: Result, plain: Buffer): Complaint | undefined {
  const coded = encoded(plain, one.codings);
  const trailer = { gzip: 8, deflate: 4, raw: 0, br: 0, zstd: 0 }[one.codings[0] as Coding];
  const isShort = bytes.length < coded.length - trailer;
  const reaches = plain.length >= one.maxBytes;
  const detail = () => `${decoded.coding} ${end}, ${bytes.length} of ${coded.length} bytes`;
  if (!isShort) return undefined;
  return firstOf(
    unless(end === 'short', 'short_called_whole', detail),
    unless(
      !one.whole || reaches || ['cut_short', 'broken', 'bomb'].includes(decoded.coding),
      'short_called_ok',
      detail,
    ),
  );
}

/** What the follower of the outermost coding says of a body that comes in pieces. */
async function followed(bytes: Buffer, one: CodedCase): Promise<'whole' | 'short' | undefined> {
  const following = followCoding(one.label);
  if (following === undefined) return undefined;
  const size = Math.max(1, one.pieceBytes, Math.ceil(bytes.length / 2000));
  for (let at = 0; at < bytes.length; at += size) {
    following.write(bytes.subarray(at, at + size));
    if (!following.isBusy) continue;
    const { promise, resolve } = Promise.withResolvers<void>();
    following.onReady = resolve;
    if (following.isBusy) await promise;
  }
  return following.end();
}

function damaged(bytes: Buffer, damage: Damage): Buffer {
  switch (damage.kind) {
    case 'none':
      return bytes;
    case 'cut':
      return bytes.subarray(0, Math.floor((bytes.length * damage.at) / 1000));
    case 'behind':
      return Buffer.concat([bytes, Buffer.from(damage.bytes, 'latin1')]);
    case 'flipped': {
      const copy = Buffer.from(bytes);
      const at = damage.at % Math.max(1, copy.length);
      copy[at] = (copy[at] ?? 0) ^ (1 << damage.bit);
      return copy;
    }
  }
}

function encoded(plain: Buffer, codings: readonly Coding[]): Buffer {
  return codings.reduce((bytes, coding) => encodedAs(bytes, coding), plain);
}

function encodedAs(bytes: Buffer, coding: Coding): Buffer {
  switch (coding) {
    case 'gzip':
      return gzipSync(bytes);
    case 'deflate':
      return deflateSync(bytes);
    case 'raw':
      return deflateRawSync(bytes);
    case 'br':
      return brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } });
    case 'zstd':
      return zstdCompressSync(bytes);
  }
}
