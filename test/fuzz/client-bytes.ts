import { METHODS } from 'node:http';
import type { Socket } from 'node:net';
import { type ClientCase, makeChunkedUpload, makeClientCase } from './client-requests.ts';
import type { Dice } from './dice.ts';
import {
  type Conversation,
  fieldOf,
  finals,
  type Message,
  readReplies,
  readRequests,
  statusOf,
} from './http-reader.ts';
import { type Bench, type Complaint, firstOf, type Kind, shown, unless } from './kind.ts';
import { Origin, printOf, type Seen } from './origin.ts';
import { dribble, Ear, holds, World } from './world.ts';

const POLICY = [
  'policy:',
  '  patience: 5s',
  '  max_attempts: 1',
  '  timeouts: { connect: 2s, first_byte: 2s, idle: 2s, sniff: 1s, linger: 100ms }',
];
/** How long a client waits for what need not come. */
const QUIET_MS = 40;

/** What a client may have asked for, by the strictest reading of what it sent. */
interface Expected {
  readonly requests: readonly { method: string; path: string; body: string }[];
  readonly end: 'clean' | 'partial' | 'bad';
  /** Whether the client asks for a tunnel of its own: what comes behind it are other bytes. */
  readonly tunnel: 'none' | 'http' | 'blind';
}

/** Bytes on the client's side: requests in a row, whole or not, HTTP or not. */
export const clientBytes: Kind<ClientCase> = kindOf('client-bytes', makeClientCase);

/** The same with nothing but the chunks of an upload mutated. */
export const uploadChunks: Kind<ClientCase> = kindOf('upload-chunks', makeChunkedUpload);

function kindOf(name: string, make: (dice: Dice) => ClientCase): Kind<ClientCase> {
  return {
    name,
    make,
    async open(): Promise<Bench<ClientCase>> {
      const origin = await Origin.open();
      const world = await World.open(POLICY);
      // What a client asked for before it left may arrive later.
      const asked = { prints: [] as string[], isBlind: false };
      return {
        play: (one) => play(one, world, origin, asked),
        async settle() {
          const complaint = (await world.settle()) ?? (await probe(world, origin));
          asked.prints.length = 0;
          asked.isBlind = false;
          origin.take();
          return complaint;
        },
        async close() {
          const complaint = await world.close();
          await origin.close();
          return complaint;
        },
      };
    },
  };
}

async function play(
  one: ClientCase,
  world: World,
  origin: Origin,
  owed: { readonly prints: string[]; isBlind: boolean },
): Promise<Complaint | undefined> {
  const sent = one.pieces.map((piece) => inPlace(piece, origin));
  const asked = sent.join('');
  const isBlind = one.way === 'inner' && !isHttp(asked);
  const expected: Expected = isBlind
    ? { requests: [], end: 'partial', tunnel: 'blind' }
    : expect(asked);
  owed.prints.push(...expected.requests.map(printOf));
  owed.isBlind ||= expected.tunnel === 'blind';
  const socket = await enter(one.way, world, origin);
  const ear = new Ear(socket);
  await dribble(socket, sent);
  if (one.end === 'reset') (socket as Socket & { resetAndDestroy?: () => void }).destroy();
  if (one.end === 'fin') socket.end();
  const isHung = one.end !== 'reset' && !(await answered(ear, expected));
  socket.destroy();
  const { seen, complaint } = origin.take();
  return firstOf(
    world.fault(),
    owed.isBlind ? undefined : complaint,
    isHung ? { rule: 'no_answer', detail: shown(ear.text) } : undefined,
    ...seen.map((request) => (owed.isBlind ? undefined : checkSeen(request))),
    unless(
      owed.isBlind || seen.every((request) => strike(owed.prints, request)),
      'origin_saw_more',
      () => describe(seen, expected),
    ),
    expected.tunnel === 'none' ? checkReplies(ear, expected) : undefined,
  );
}

function inPlace(text: string, { plain, secure }: Origin): string {
  return text.replaceAll('{P}', `${plain.port}`).replaceAll('{S}', `${secure.port}`);
}

function enter(way: ClientCase['way'], world: World, origin: Origin): Promise<Socket> {
  switch (way) {
    case 'plain':
      return world.dial();
    case 'inner':
      return world.tunnel(`o.test:${origin.plain.port}`);
    case 'tls':
      return world.secure(`o.test:${origin.secure.port}`);
  }
}

function expect(bytes: string): Expected {
  const { messages, end, taken, last } = readRequests(bytes);
  const at = messages.findIndex(({ start }) => start.startsWith('CONNECT '));
  const requests = messages.map(requestOf);
  if (at === -1) {
    const isTunnel = last?.start.startsWith('CONNECT ') === true;
    return { requests, end, tunnel: isTunnel ? 'blind' : 'none' };
  }
  // Whatever length a CONNECT names, what follows it is the tunnel's.
  const before = bytes.indexOf('CONNECT ');
  const inside = bytes.slice(bytes.indexOf('\r\n\r\n', before) + 4, Math.max(taken, bytes.length));
  const inner = expect(inside);
  const tunnel = isHttp(inside) ? 'http' : 'blind';
  return { requests: [...requests.slice(0, at), ...inner.requests], end: inner.end, tunnel };
}

/** Whether a tunnel that begins so is opened. */
const isHttp = (bytes: string): boolean => METHODS.includes(/^([A-Z-]+) /.exec(bytes)?.[1] ?? '');

function requestOf({ start, body }: Message): { method: string; path: string; body: string } {
  const [method = '', target = ''] = start.split(/ +/);
  const absolute = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*(.*)$/i.exec(target);
  const rest = (absolute?.[1] ?? target).replace(/#.*$/, '');
  const rooted = rest.startsWith('?') ? `/${rest}` : rest;
  return { method, path: rooted || (method === 'OPTIONS' ? '*' : '/'), body };
}

/** Waits for all answers that are due; false when they do not come, and neither does the end. */
async function answered(ear: Ear, expected: Expected): Promise<boolean> {
  const due = expected.tunnel === 'none' ? expected.requests.length : 0;
  const methods = expected.requests.map(({ method }) => method);
  const isOver = () => {
    if (ear.end !== 'open') return true;
    const { messages } = readReplies(ear.text, methods, 'stays');
    return finals(messages).length >= due;
  };
  if (!(await holds(isOver))) return false;
  // One answer more may come to bytes that are no request; and none must come to those that are not whole.
  if (ear.end === 'open' && expected.end !== 'clean')
    await holds(() => ear.end !== 'open', QUIET_MS);
  return true;
}

function checkSeen(seen: Seen): Complaint | undefined {
  const leak = seen.fields.find(([name]) => /^(?:forbear-|proxy-)/i.test(name));
  const hosts = seen.fields.filter(([name]) => name.toLowerCase() === 'host');
  return firstOf(
    unless(leak === undefined, 'leaked_to_origin', () => String(leak)),
    unless(hosts.length === 1, 'hosts_at_origin', () => JSON.stringify(seen)),
  );
}

/** Strikes a request off those that were asked for; false when it is not among them. */
function strike(owed: string[], seen: Seen): boolean {
  const at = owed.indexOf(printOf(seen));
  if (at !== -1) owed.splice(at, 1);
  return at !== -1;
}

function describe(seen: readonly Seen[], expected: Expected): string {
  const told = ({ method, path, body }: Expected['requests'][number]) =>
    shown(`${method} ${path} ${body}`);
  return `origin: ${seen.map(told).join(' ')} client: ${expected.requests.map(told).join(' ')}`;
}

/** One whole answer to each request in its order, or the end of the connection. */
function checkReplies(ear: Ear, { requests }: Expected): Complaint | undefined {
  const methods = requests.map(({ method }) => method);
  const after = ear.end === 'open' ? 'stays' : 'ended';
  const { messages, end } = heard(ear.text, methods, after);
  const replies = finals(messages);
  const strange = replies.findIndex((reply, i) => {
    const print = fieldOf(reply, 'x-print');
    const asked = requests[i];
    return print !== undefined && (asked === undefined || print !== printOf(asked));
  });
  const isCut = end === 'partial' && ear.end === 'open';
  return firstOf(
    unless(end !== 'bad', 'nonsense_to_client', () => shown(ear.text)),
    unless(!isCut || replies.length < requests.length, 'half_a_reply', () => shown(ear.text)),
    unless(replies.length <= requests.length + 1, 'too_many_replies', () => shown(ear.text)),
    unless(strange === -1, 'wrong_reply', () => shown(ear.text)),
    unless(
      replies.every((one) => statusOf(one) !== 500),
      'internal_error',
      () => shown(ear.text),
    ),
  );
}

/** What was asked last may be no request by our reading, and HEAD by the proxy's; or the other way round. */
function heard(text: string, methods: readonly string[], after: 'stays' | 'ended'): Conversation {
  const strict = readReplies(text, methods, after);
  const last = Math.max(0, finals(strict.messages).length - 1);
  const others = [[...methods, 'HEAD'], [...methods, 'GET'].with(last, 'GET')];
  const readings = [strict, ...others.map((asked) => readReplies(text, asked, after))];
  const order = ['clean', 'partial', 'bad'];
  readings.sort((a, b) => order.indexOf(a.end) - order.indexOf(b.end));
  return readings[0] ?? strict;
}

/** A client that does everything right must be served, whatever others did before. */
async function probe(world: World, origin: Origin): Promise<Complaint | undefined> {
  const socket = await world.dial();
  const ear = new Ear(socket);
  const authority = `o.test:${origin.plain.port}`;
  socket.write(
    `GET http://${authority}/probe HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`,
  );
  const isServed = await holds(() => ear.end !== 'open');
  socket.destroy();
  return unless(isServed && / 200 OK/.test(ear.text), 'not_served_any_more', () => shown(ear.text));
}
