import type { Socket } from 'node:net';
import { good } from '../support/certificates.ts';
import { onHead, type RawServer, rawServer, rawTlsServer } from '../support/raw-server.ts';
import type { Dice } from './dice.ts';
import {
  type Conversation,
  fieldOf,
  finals,
  type Message,
  readReplies,
  statusOf,
} from './http-reader.ts';
import { type Bench, type Complaint, firstOf, type Kind, shown, unless } from './kind.ts';
import { makeChunkedReply, makeReplyCase, type ReplyCase } from './origin-replies.ts';
import { dribble, Ear, holds, ORIGIN_HOST, World } from './world.ts';

// No case is to change what another one meets: each has a host of its own, and nothing is tried again.
const POLICY = [
  'policy:',
  '  patience: 3s',
  '  max_attempts: 1',
  '  max_rate_waits: 0',
  '  resume_downloads: false',
  '  auth_fuse: 0',
  '  timeouts: { connect: 2s, first_byte: 300ms, idle: 300ms, sniff: 1s, linger: 100ms }',
];

/** Bytes of a site: its client gets the body that they hold, or an honest failure. */
export const replyBytes: Kind<ReplyCase> = kindOf('reply-bytes', makeReplyCase);

/** The same with nothing but the chunks mutated. */
export const replyChunks: Kind<ReplyCase> = kindOf('reply-chunks', makeChunkedReply);

/** Behind the status it ends the line, for some. */
const BARE_CR = /^(HTTP\/\S+ \d{3}[^\r\n]*)\r+(?![\r\n])/;

interface Site {
  readonly plain: RawServer;
  readonly secure: RawServer;
  /** What it answers with now. */
  script: ReplyCase | undefined;
}

function kindOf(name: string, make: (dice: Dice) => ReplyCase): Kind<ReplyCase> {
  return {
    name,
    make,
    async open(): Promise<Bench<ReplyCase>> {
      const site = await openSite();
      const world = await World.open(POLICY);
      let n = 0;
      return {
        play(one) {
          n += 1;
          return play(one, { world, site, host: `r${n}.test` });
        },
        settle: () => world.settle(),
        async close() {
          const complaint = await world.close();
          await Promise.all([site.plain.close(), site.secure.close()]);
          return complaint;
        },
      };
    },
  };
}

async function openSite(): Promise<Site> {
  const state: { script: ReplyCase | undefined } = { script: undefined };
  const serve = (socket: Socket) => {
    onHead(socket, () => void answer(socket, state.script));
    socket.on('end', () => socket.end());
  };
  const plain = await rawServer(serve, ORIGIN_HOST);
  const secure = await rawTlsServer(serve, good, ORIGIN_HOST);
  return Object.assign(state, { plain, secure });
}

async function answer(socket: Socket, script: ReplyCase | undefined): Promise<void> {
  if (script === undefined) return;
  await dribble(socket, script.pieces);
  if (script.end === 'fin') socket.end();
  // A reset straight behind the bytes would mostly take them along.
  if (script.end === 'reset') setImmediate(() => reset(socket));
}

function reset(socket: Socket & { _parent?: Socket }): void {
  (socket._parent ?? socket).resetAndDestroy();
}

interface Stage {
  readonly world: World;
  readonly site: Site;
  readonly host: string;
}

async function play(one: ReplyCase, { world, site, host }: Stage): Promise<Complaint | undefined> {
  site.script = one;
  const secure = one.way === 'tls';
  const authority = `${host}:${secure ? site.secure.port : site.plain.port}`;
  const socket = secure ? await world.secure(authority) : await world.dial();
  const ear = new Ear(socket);
  const target = secure ? '/x' : `http://${authority}/x`;
  const body = one.method === 'POST' ? 'Content-Length: 2\r\n\r\nhi' : '\r\n';
  socket.write(`${one.method} ${target} HTTP/${one.version}\r\nHost: ${authority}\r\n${body}`);
  const isOver = () => ear.end !== 'open' || finals(heard(ear, one).messages).length > 0;
  const isAnswered = await holds(isOver);
  socket.destroy();
  return firstOf(
    world.fault(),
    unless(isAnswered, 'no_answer', () => shown(ear.text)),
    judge(one, ear),
  );
}

function heard(ear: Ear, { method }: ReplyCase): Conversation {
  return readReplies(ear.text, [method], ear.end === 'fin' ? 'ended' : 'stays');
}

function judge(one: ReplyCase, ear: Ear): Complaint | undefined {
  const bytes = one.pieces.join('');
  const after = one.end === 'fin' ? 'ended' : 'stays';
  const said = readReplies(withoutInterims(bytes).replace(BARE_CR, '$1\r\n'), [one.method], after);
  const [sent] = finals(said.messages);
  const got = heard(ear, one);
  const [reply] = finals(got.messages);
  const detail = () => `site: ${shown(bytes)} client: ${shown(ear.text)} ${ear.end}`;
  return firstOf(
    unless(got.end !== 'bad', 'nonsense_to_client', detail),
    unless(got.end !== 'clean' || finals(got.messages).length <= 1, 'two_replies', detail),
    unless(reply === undefined || isOwn(reply) || isSame(reply, sent), 'made_whole', detail),
    reply !== undefined && sent !== undefined && !isOwn(reply)
      ? checkFields(sent, reply)
      : undefined,
    checkInterims(bytes, got, detail),
    mustCome(one, readReplies(bytes, [one.method], after))
      ? unless(reply !== undefined && !isOwn(reply), 'not_passed_on', detail)
      : undefined,
  );
}

/** A reply that the proxy made itself. */
function isOwn(reply: Message): boolean {
  const type = fieldOf(reply, 'content-type');
  return statusOf(reply) >= 400 && type === 'application/problem+json';
}

function isSame(got: Message, sent: Message | undefined): boolean {
  return sent !== undefined && statusOf(got) === statusOf(sent) && got.body === sent.body;
}

/** What a site says of itself under names of its own arrives as it was. */
function checkFields(sent: Message, got: Message): Complaint | undefined {
  const nominated = sent.fields.filter(([name]) => name.toLowerCase() === 'connection').join();
  if (/x-/i.test(nominated)) return undefined;
  const own = ({ fields }: Message) =>
    fields.filter(([name]) => /^(?:x-|set-cookie)/i.test(name)).join('\n');
  return unless(
    own(sent) === own(got),
    'fields_changed',
    () => `${shown(own(sent))} ${shown(own(got))}`,
  );
}

/** Interim heads are read with more tolerance than final ones. */
function withoutInterims(bytes: string): string {
  const [, end = ''] =
    /^HTTP\/\d(?:\.\d)?[\t ]+1(?!01)\d\d(?:[\t ]|\r?\n)[\s\S]*?(\n\r?\n)/i.exec(bytes) ?? [];
  return end === '' ? bytes : withoutInterims(bytes.slice(bytes.indexOf(end) + end.length));
}

function checkInterims(
  site: string,
  got: Conversation,
  detail: () => string,
): Complaint | undefined {
  const known = [...site.matchAll(/HTTP\/\S+[\t ]+(1\d\d)/gi)].map(([, code]) => Number(code));
  const told = got.messages.map(statusOf).filter((code) => code < 200);
  return unless(
    told.every((code) => known.includes(code)),
    'interim_made_up',
    detail,
  );
}

/** Whether there is nothing about a reply that a proxy may stumble over. */
function mustCome({ end }: ReplyCase, said: Conversation): boolean {
  const [sent] = finals(said.messages);
  if (sent === undefined || end === 'reset') return false;
  const isOrdinary = !sent.isOdd && statusOf(sent) < 600 && sent.start.startsWith('HTTP/1.');
  return (
    isOrdinary &&
    said.messages[0] === sent &&
    said.messages.length === 1 &&
    !/[^\t -\xff]/.test(sent.start)
  );
}
