import type { Socket } from 'node:net';
import { connectTo } from '../support/client-wire.ts';
import { type RawServer, rawServer } from '../support/raw-server.ts';
import type { Dice } from './dice.ts';
import { fieldOf, finals, readReplies, statusOf } from './http-reader.ts';
import { type Bench, type Complaint, firstOf, type Kind, shown, unless } from './kind.ts';
import { mutated, pieces } from './mutate.ts';
import { dribble, Ear, holds, ORIGIN_HOST, World } from './world.ts';

/** What an upstream proxy says to each message of the handshake, in pieces; behind the last it is an echo. */
interface UpstreamCase {
  readonly protocol: 'http' | 'socks5';
  readonly login: boolean;
  readonly steps: readonly (readonly string[])[];
  readonly end: 'stay' | 'fin' | 'reset';
}

/** How a handshake must come out. `open`: it may come out either way. */
type Expected =
  | { readonly kind: 'joined'; readonly extra: string }
  | { readonly kind: 'refused' | 'open' };

const PING = 'ping?';
const MOST_HEAD_BYTES = 16 * 1024;
const POLICY = [
  'intercept: { mode: none }',
  'policy:',
  '  patience: 3s',
  '  max_attempts: 1',
  '  max_addresses: 1',
  '  max_rate_waits: 0',
  '  timeouts: { connect: 250ms, first_byte: 300ms, idle: 300ms, sniff: 1s, linger: 100ms }',
];
const STATUSES = [
  ...['200 OK', '200 Connection established', '200', '299 Odd', '204 No', '407 Login', '403 No'],
  ...['502 Bad', '503 Busy', '429 Slow', '302 Elsewhere', '101 Switching', '000 Zero', '999 Odd'],
];
const FIELDS = [
  ...['Proxy Connection: close', 'Content-Length: 5', 'Transfer-Encoding: chunked', 'X-A: \xe9'],
  ...[
    'Proxy-Status: up; error=dns_error',
    'Retry-After: 1',
    ' folded',
    'no colon',
    'X-Exit: 1.2.3.4',
  ],
  'X-Long: '.padEnd(20_000, 'y'),
];

/** Handshakes with upstream proxies by CONNECT and SOCKS5: malformed, dribbled, too long, or with more behind them. */
export const upstreamBytes: Kind<UpstreamCase> = { name: 'upstream-bytes', make, open };

function make(dice: Dice): UpstreamCase {
  const protocol = dice.pick(['http', 'socks5'] as const);
  const login = dice.oneIn(2);
  const said = protocol === 'http' ? [connectAnswer(dice)] : socksAnswers(dice, login);
  const steps = said.map((text) => {
    const bytes = dice.oneIn(3) ? mutated(text, dice) : text;
    return pieces(dice.oneIn(8) ? bytes.slice(0, dice.between(0, bytes.length)) : bytes, dice);
  });
  const end = dice.pick(['stay', 'stay', 'stay', 'fin', 'reset'] as const);
  return { protocol, login, steps, end };
}

function connectAnswer(dice: Dice): string {
  const version = dice.oneIn(8) ? dice.pick(['1.0', '1', '2', '9.9']) : '1.1';
  const lines = [
    `HTTP/${version} ${dice.pick(STATUSES)}`,
    ...dice.some(3, () => dice.pick(FIELDS)),
  ];
  const newline = dice.oneIn(10) ? '\n' : '\r\n';
  const interim = dice.oneIn(10) ? `HTTP/1.1 100 Continue${newline}${newline}` : '';
  return `${interim}${[...lines, '', ''].join(newline)}${extra(dice)}`;
}

function socksAnswers(dice: Dice, login: boolean): string[] {
  const code = dice.oneIn(3) ? dice.below(256) : 0;
  const name = dice.word(dice.between(0, 255));
  const address = dice.pick([
    `\x01${dice.bytes(4)}`,
    `\x04${dice.bytes(16)}`,
    `\x03${String.fromCharCode(name.length)}${name}`,
    `\x07${dice.bytes(3)}`,
  ]);
  const reply = `\x05${String.fromCharCode(code)}\0${address}${dice.bytes(2)}${extra(dice)}`;
  const isAsked = login && !dice.oneIn(4);
  if (!isAsked) return [dice.oneIn(8) ? `\x05${dice.bytes(1)}` : '\x05\0', reply];
  return ['\x05\x02', dice.oneIn(5) ? `\x01${dice.bytes(1)}` : '\x01\0', reply];
}

const extra = (dice: Dice): string => (dice.oneIn(3) ? dice.bytes(dice.between(1, 3000)) : '');

async function open(): Promise<Bench<UpstreamCase>> {
  const state: { script: UpstreamCase | undefined } = { script: undefined };
  const upstream = await rawServer((socket) => answer(socket, state.script), ORIGIN_HOST);
  const world = await World.open(POLICY);
  let n = 0;
  return {
    play(one) {
      state.script = one;
      n += 1;
      // Each case has a host, an account and an address of its own: what others met there is their affair.
      world.reload([...POLICY, ...listing(one, upstream, n)]);
      return play(one, world, `o${n}.test:443`);
    },
    settle: () => world.settle(),
    async close() {
      const complaint = await world.close();
      await upstream.close();
      return complaint;
    },
  };
}

function listing({ protocol, login }: UpstreamCase, { port }: RawServer, n: number): string[] {
  const user = login ? `u${n}:secret@` : '';
  const url = `${protocol}://${user}${ORIGIN_HOST}:${port}`;
  return ['upstreams:', `  - { name: up${n}, routes: ["${url}"] }`];
}

function answer(socket: Socket, script: UpstreamCase | undefined): void {
  const steps = [...(script?.steps ?? [])];
  let said = '';
  let busy = Promise.resolve();
  const onMessage = (bytes: Buffer) => {
    said += bytes.toString('latin1');
    if (script?.protocol === 'http' && !said.includes('\r\n\r\n')) return;
    const step = steps.shift();
    if (step === undefined) return void busy.then(() => socket.write(bytes));
    busy = busy.then(() => dribble(socket, step));
    if (steps.length > 0 || script === undefined) return;
    void busy.then(() => {
      if (script.end === 'fin') socket.end();
      if (script.end === 'reset') setImmediate(() => socket.resetAndDestroy());
    });
  };
  socket.on('data', onMessage).on('end', () => socket.end());
}

async function play(
  one: UpstreamCase,
  world: World,
  target: string,
): Promise<Complaint | undefined> {
  const expected = expect(one);
  const socket = await world.dial();
  const ear = new Ear(socket);
  socket.write(connectTo(target));
  const hasHead = await holds(() => ear.end !== 'open' || ear.text.includes('\r\n\r\n'));
  const isJoined = ear.text.startsWith('HTTP/1.1 200 ');
  if (isJoined && one.end === 'stay') socket.write(PING);
  const due = expected.kind === 'joined' ? expected.extra + (one.end === 'stay' ? PING : '') : '';
  const isDone = () =>
    ear.end !== 'open' || (isJoined && behindHead(ear.text).length >= due.length);
  const isOver = await holds(isDone);
  socket.destroy();
  return firstOf(
    world.fault(),
    unless(hasHead && isOver, 'no_answer', () => shown(ear.text)),
    isJoined ? checkJoined(one, expected, ear, due) : checkRefused(expected, ear),
  );
}

function checkJoined(
  { steps, end }: UpstreamCase,
  expected: Expected,
  ear: Ear,
  due: string,
): Complaint | undefined {
  const got = behindHead(ear.text);
  const detail = () =>
    `${expected.kind}, due ${shown(due)} got ${shown(got)} of ${shown(JSON.stringify(steps))}`;
  if (expected.kind === 'open') return undefined;
  return firstOf(
    unless(expected.kind === 'joined', 'joined_though_refused', detail),
    unless(got === due || (end === 'reset' && due.startsWith(got)), 'other_bytes', detail),
  );
}

/** A tunnel that does not stand is told by a whole reply of our own, never by the upstream's word. */
function checkRefused(expected: Expected, ear: Ear): Complaint | undefined {
  const { messages, end } = readReplies(ear.text, ['GET'], ear.end === 'fin' ? 'ended' : 'stays');
  const [reply] = finals(messages);
  const detail = () => `${expected.kind}: ${shown(ear.text)} ${ear.end}`;
  const isOwn =
    reply !== undefined && fieldOf(reply, 'content-type') === 'application/problem+json';
  return firstOf(
    unless(expected.kind !== 'joined', 'refused_though_joined', detail),
    unless(end === 'clean' && isOwn, 'no_reply_of_our_own', detail),
    unless(reply === undefined || statusOf(reply) !== 407, 'login_of_upstream_told', detail),
    unless(reply === undefined || statusOf(reply) >= 400, 'good_status', detail),
    unless(ear.end === 'fin', 'not_closed', detail),
  );
}

function behindHead(text: string): string {
  const at = text.indexOf('\r\n\r\n');
  return at === -1 ? '' : text.slice(at + 4);
}

function expect(one: UpstreamCase): Expected {
  const steps = one.steps.map((step) => step.join(''));
  if (one.end === 'reset') return { kind: 'open' };
  return one.protocol === 'http' ? byConnect(steps[0] ?? '') : bySocks(steps, one);
}

function byConnect(bytes: string): Expected {
  const end = headLength(bytes);
  if (end === undefined) return { kind: bytes.includes('\n') ? 'open' : 'refused' };
  const [, status] = /^HTTP\/\d(?:\.\d)?[\t ]+(\d{3})(?:[\t ][^\r\n]*)?\r?\n/i.exec(bytes) ?? [];
  if (status === undefined) return { kind: 'open' };
  if (end > MOST_HEAD_BYTES) return { kind: 'refused' };
  const rest = bytes.slice(end);
  if (Number(status) < 200) return byConnect(rest);
  return Number(status) < 300 ? { kind: 'joined', extra: rest } : { kind: 'refused' };
}

/** Up to and with the first empty line. */
function headLength(bytes: string): number | undefined {
  for (let at = 0; ; ) {
    const end = bytes.indexOf('\n', at);
    if (end === -1) return undefined;
    const line = bytes.slice(at, end);
    if (line === '' || line === '\r') return end + 1;
    at = end + 1;
  }
}

function bySocks(steps: readonly string[], { login }: UpstreamCase): Expected {
  const [method = '', ...others] = steps;
  if (method === '' || method[0] !== '\x05') return { kind: 'refused' };
  const accepted = others.length === 2 ? others[0] : undefined;
  const reply = others.at(-1) ?? '';
  const isPlain = method === '\x05\0' && others.length === 1;
  const isLoggedIn = login && method === '\x05\x02' && /^[\s\S]\0$/.test(accepted ?? '');
  if (!isPlain && !isLoggedIn) return { kind: 'open' };
  if (reply[0] !== '\x05') return { kind: 'refused' };
  const nameLength = reply.charCodeAt(4);
  const lengths: Readonly<Record<string, number>> = {
    '\x01': 4,
    '\x03': 1 + nameLength,
    '\x04': 16,
  };
  const length = lengths[reply[3] ?? ''];
  if (reply[1] !== '\0' || length === undefined || reply.length < 6 + length)
    return { kind: 'refused' };
  return { kind: 'joined', extra: reply.slice(6 + length) };
}
