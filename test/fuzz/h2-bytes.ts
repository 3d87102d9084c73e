import {
  FLAG,
  type Frame,
  FrameReader,
  headers,
  PREFACE,
  ping,
  request,
  SETTING,
  settings,
  TYPE,
} from '../support/h2-frames.ts';
import { type H2Case, makeH2Case } from './h2-requests.ts';
import { type Bench, type Complaint, firstOf, type Kind, shown, unless } from './kind.ts';
import { Origin, type Seen } from './origin.ts';
import { dribble, holds, World } from './world.ts';

const POLICY = [
  'policy:',
  '  patience: 3s',
  '  max_attempts: 1',
  '  timeouts: { connect: 2s, first_byte: 2s, idle: 500ms, sniff: 1s, linger: 100ms }',
];
const MARK = Buffer.from('are-you?');
/** Below this a client's window may hold a reply back. */
const ROOMY = 10_000;

/** HTTP/2 of a client in an opened tunnel. */
export const h2Bytes: Kind<H2Case> = { name: 'h2-bytes', make: makeH2Case, open };

async function open(): Promise<Bench<H2Case>> {
  const origin = await Origin.open();
  const world = await World.open(POLICY);
  // What a client asked for before it left may arrive later.
  const said: Said[] = [];
  return {
    play(one) {
      said.push(readFrames(one.pieces.join('')));
      return play(one, said, { world, origin });
    },
    async settle() {
      const complaint = (await world.settle()) ?? (await sibling(world, origin));
      origin.take();
      said.length = 0;
      return complaint;
    },
    async close() {
      const complaint = await world.close();
      await origin.close();
      return complaint;
    },
  };
}

/** What a client has said, frame by frame, as far as it was whole. */
interface Said {
  readonly frames: readonly Frame[];
  /** The last one, if it is not whole: DATA is passed on as it comes. */
  readonly partial: Frame | undefined;
  /** Whether all of it was frames, each whole. */
  readonly isWhole: boolean;
}

async function play(
  one: H2Case,
  all: readonly Said[],
  { world, origin }: { readonly world: World; readonly origin: Origin },
): Promise<Complaint | undefined> {
  const said = all.at(-1) as Said;
  const target = `o.test:${origin.secure.port}`;
  const socket = await world.secure(target, { ALPNProtocols: ['h2'] });
  const reader = new FrameReader(socket);
  await dribble(socket, one.pieces);
  if (one.end === 'fin') socket.end();
  const isReset = one.end === 'reset';
  const due = isReset ? [] : streamsDue(said);
  const isOver = () => reader.ended || due.every((id) => hasEnded(reader.frames, id));
  const isAnswered = await holds(isOver);
  const isAlive = isReset || one.end === 'fin' || (await answersPing(said, reader, socket));
  socket.destroy();
  const { seen, complaint } = origin.take();
  return firstOf(
    world.fault(),
    complaint,
    unless(isAnswered, 'stream_unanswered', () => `${due} of ${reader.told().join(', ')}`),
    unless(isAlive, 'session_dead', () => reader.told().join(', ')),
    unless(seen.length <= all.flatMap(opened).length, 'origin_saw_more', () => describe(seen)),
    ...seen.map((request) => checkSeen(request, all)),
  );
}

/** A session that goes on answers a PING, unless the last frame still waits for its end. */
async function answersPing(
  said: Said,
  reader: FrameReader,
  socket: { write(bytes: Buffer): boolean },
): Promise<boolean> {
  if (!said.isWhole || reader.ended) return true;
  const last = said.frames.at(-1);
  const isInBlock = last?.type === TYPE.headers || last?.type === TYPE.continuation;
  if (isInBlock && !(last.flags & FLAG.endHeaders)) return true;
  socket.write(ping(MARK));
  const isAck = (one: Frame) => one.type === TYPE.ping && one.payload.equals(MARK);
  return holds(() => reader.ended || reader.frames.some(isAck));
}

function readFrames(bytes: string): Said {
  const preface = PREFACE.toString('latin1');
  if (!bytes.startsWith(preface)) return { frames: [], partial: undefined, isWhole: false };
  const all = Buffer.from(bytes.slice(preface.length), 'latin1');
  const frames: Frame[] = [];
  let at = 0;
  while (at + 9 <= all.length) {
    const end = at + 9 + all.readUIntBE(at, 3);
    const stream = all.readUInt32BE(at + 5) & 0x7fff_ffff;
    const [type = 0, flags = 0] = all.subarray(at + 3);
    const one = { type, flags, stream, payload: all.subarray(at + 9, end) };
    if (end > all.length) return { frames, partial: one, isWhole: false };
    frames.push(one);
    at = end;
  }
  return { frames, partial: undefined, isWhole: at === all.length && frames.length > 0 };
}

/** The streams that a client has opened. */
function opened({ frames }: Said): number[] {
  const ids = frames.filter(({ type }) => type === TYPE.headers).map(({ stream }) => stream);
  return [...new Set(ids)];
}

/** The streams whose requests were said to their end, so that an answer is due to them if the session goes on. */
function streamsDue(said: Said): number[] {
  if (!said.isWhole || isNarrow(said)) return [];
  const ofOne = (id: number) => said.frames.filter(({ stream }) => stream === id);
  return opened(said).filter((id, i, ids) => {
    // One with a number below another's counts as closed from its start.
    if (ids.slice(0, i).some((earlier) => earlier > id)) return false;
    const own = ofOne(id);
    const isReset = own.some(({ type }) => type === TYPE.rstStream);
    const [head] = own.filter(({ type }) => type === TYPE.headers);
    const isHead = (head?.flags ?? 0) & FLAG.endHeaders;
    const hasEnd = own.some(({ type, flags }) => type <= TYPE.headers && flags & FLAG.endStream);
    return id % 2 === 1 && !isReset && isHead && hasEnd;
  });
}

/** Whether a client may have left no room for replies. */
function isNarrow({ frames }: Said): boolean {
  return frames.some(({ type, payload }) => {
    if (type !== TYPE.settings) return false;
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      const isWindow = payload.readUInt16BE(at) === SETTING.initialWindowSize;
      if (isWindow && payload.readUInt32BE(at + 2) < ROOMY) return true;
    }
    return false;
  });
}

function hasEnded(frames: readonly Frame[], id: number): boolean {
  return frames.some(({ type, flags, stream }) => {
    if (stream !== id) return false;
    return type === TYPE.rstStream || (type <= TYPE.headers && (flags & FLAG.endStream) !== 0);
  });
}

/** What reaches the origin was said by the client, in as many words, and is none of the proxy's own business. */
function checkSeen(seen: Seen, all: readonly Said[]): Complaint | undefined {
  const leak = seen.fields.find(([name]) => /^(?:forbear-|proxy-)/i.test(name));
  const hosts = seen.fields.filter(([name]) => name.toLowerCase() === 'host');
  const isSaid =
    all.some((said) => blocksOf(said).includes(seen.path)) ||
    ['/', '/index.html'].includes(seen.path);
  const bodies = all.flatMap((said) => opened(said).flatMap((id) => bodiesOf(said, id)));
  // What is as long as was told is whole before the stream ends, whatever comes then.
  const isTold = seen.fields.some(([name]) => name.toLowerCase() === 'content-length');
  const fits = (body: string) => (isTold ? body.startsWith(seen.body) : body === seen.body);
  return firstOf(
    unless(leak === undefined, 'leaked_to_origin', () => String(leak)),
    unless(hosts.length === 1, 'hosts_at_origin', () => describe([seen])),
    unless(isSaid, 'path_made_up', () => shown(seen.path)),
    unless(seen.body === '' || bodies.some(fits), 'body_made_up', () => shown(seen.body)),
  );
}

/** All field blocks in a row; they may go over several frames. */
function blocksOf({ frames }: Said): string {
  const blocks = frames.filter(({ type }) => type === TYPE.headers || type === TYPE.continuation);
  return blocks.map(({ payload }) => payload.toString('latin1')).join('');
}

/** The bodies said on one stream: another one may be tried on it after its end. */
function bodiesOf({ frames, partial }: Said, id: number): string[] {
  const bodies = [''];
  for (const { type, flags, payload, stream } of frames) {
    if (stream !== id || type > TYPE.headers) continue;
    if (type === TYPE.data) bodies.push(`${bodies.pop()}${unpadded(payload, flags)}`);
    if (flags & FLAG.endStream) bodies.push('');
  }
  if (partial?.type === TYPE.data && partial.stream === id) {
    const { flags, payload } = partial;
    bodies.push(`${bodies.pop()}${payload.toString('latin1', flags & FLAG.padded ? 1 : 0)}`);
  }
  return bodies;
}

function unpadded(payload: Buffer, flags: number): string {
  if (!(flags & FLAG.padded)) return payload.toString('latin1');
  return payload.toString('latin1', 1, payload.length - (payload[0] ?? 0));
}

function describe(seen: readonly Seen[]): string {
  return seen.map(({ method, path, body }) => shown(`${method} ${path} ${body}`)).join(' ');
}

/** A client of its own session is served, whatever became of the others. */
async function sibling(world: World, origin: Origin): Promise<Complaint | undefined> {
  const said = [PREFACE, settings(), headers(1, request('/sibling', 'o.test'))];
  const socket = await world.secure(`o.test:${origin.secure.port}`, { ALPNProtocols: ['h2'] });
  const reader = new FrameReader(socket);
  for (const bytes of said) socket.write(bytes);
  const isServed = await holds(() => hasEnded(reader.frames, 1) || reader.ended);
  socket.destroy();
  const paths = origin.take().seen.map(({ path }) => path);
  return unless(isServed && paths.includes('/sibling'), 'not_served_any_more', () =>
    reader.told().join(', '),
  );
}
