import type { Duplex } from 'node:stream';
import { fieldValue, fieldValues } from '../core/fields.ts';
import type { FailureCode } from '../core/verdict.ts';
import type { Exchange, Received } from '../exchange/ports.ts';
import { Connection } from './connections.ts';
import { type Broken, broken } from './failure.ts';
import { type Head, headEnd, parseHead } from './head.ts';
import { createInterims } from './interim.ts';
import { readUntil } from './read.ts';
import { receive } from './receive.ts';
import { failedAttempt } from './received.ts';
import { requestOf } from './request.ts';
import { send } from './send.ts';
import { dialLeg, endLeg, type Leg, type LegJob, standing } from './tunnel.ts';

/** What a request to switch protocols came to: an ordinary reply, a failure, or a socket that speaks another protocol. */
export interface Upgrade extends Received {
  readonly switched?: {
    readonly socket: Duplex;
    /** The 101 as it came, blank line included. */
    readonly head: Buffer;
    /** What the origin said right behind it. */
    readonly rest: Buffer;
  };
}

const INTERIM = 'HTTP/1.1 1';

/**
 * Sends a handshake over a leg of its own. HTTP clients take `Upgrade` for their own business: undici refuses
 * the field, and Node's client knows no way back from it, so the head goes out in the client's words here. Any
 * answer but a 101 is then read like every other reply.
 */
export async function openUpgrade(job: LegJob): Promise<Upgrade> {
  const { exchange, clock } = job;
  const leg = await dialLeg(job);
  if (leg.kind === 'failed') return leg.received;
  const { socket, rest } = leg.dialled;
  if (rest.length > 0) socket.unshift(rest);
  exchange.stage = { kind: 'awaiting_reply', sinceAt: clock.now(), untilAt: undefined };
  socket.write(handshakeOf(exchange), 'latin1');
  const reading = {
    exchange,
    maxHeadBytes: job.replyTerms.maxHeadBytes,
    interims: createInterims(exchange),
    from: 0,
  };
  const limits = { clock, signal: exchange.signal, ms: exchange.policy.timeouts.firstByteMs };
  const answer = await readUntil(socket, limits, (bytes) => readAnswer(bytes, reading));
  if (answer.kind === 'failed') return failed(broken(answer.error, 'first_byte', 'origin'), leg);
  switch (answer.value.kind) {
    case 'malformed':
      return failed(brokenReply(answer.value), leg);
    case 'ordinary':
      return ordinary(answer.value.bytes, leg, job);
    case 'switched':
      return switched(answer.value, leg, job);
  }
}

type Answer =
  | {
      readonly kind: 'switched';
      readonly head: Head;
      readonly bytes: Buffer;
      readonly rest: Buffer;
    }
  /** All that has come of it. */
  | { readonly kind: 'ordinary'; readonly bytes: Buffer }
  | Malformed;

interface Malformed {
  readonly kind: 'malformed';
  readonly code: FailureCode;
  readonly detail: string;
}

function handshakeOf({ method, target, rawHeaders }: Exchange): string {
  const host = fieldValue(rawHeaders, 'host') === undefined ? ['Host', target.authority] : [];
  const fields = [...host, ...rawHeaders];
  const lines = [`${method} ${target.path} HTTP/1.1`];
  for (let i = 0; i + 1 < fields.length; i += 2) lines.push(`${fields[i]}: ${fields[i + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}

interface Reading {
  readonly exchange: Exchange;
  readonly maxHeadBytes: number;
  readonly interims: ReturnType<typeof createInterims>;
  /** Where the interim replies end that have been taken. */
  from: number;
}

/** Tells a 101 from everything else; undefined while more is needed for that. */
function readAnswer(bytes: Buffer, reading: Reading): Answer | undefined {
  for (;;) {
    const rest = bytes.subarray(reading.from);
    if (!mayBeInterim(rest)) return { kind: 'ordinary', bytes: rest };
    const length = headEnd(rest);
    if ((length === -1 ? rest.length : length) > reading.maxHeadBytes) {
      return malformed('header_overflow', 'the head is too long');
    }
    if (length === -1) return undefined;
    const answer = readHead(rest, length, reading);
    if (answer !== undefined) return answer;
    reading.from += length;
  }
}

/** The answer if this 1xx is the 101, or is one too many. */
function readHead(rest: Buffer, length: number, { exchange, interims }: Reading) {
  const text = rest.toString('latin1', 0, length);
  const head = parseHead(text);
  if (head?.status !== 101) {
    const fault = head && interims(head);
    return fault && malformed('http_protocol', fault.message);
  }
  const fault = faultOf(head, text, exchange);
  if (fault !== undefined) return malformed('http_protocol', fault);
  const bytes = rest.subarray(0, length);
  return { kind: 'switched', head, bytes, rest: rest.subarray(length) } as const;
}

/** Whether these bytes begin a 1xx, or may still come to do so. */
function mayBeInterim(bytes: Buffer): boolean {
  return INTERIM.startsWith(bytes.toString('latin1', 0, INTERIM.length));
}

/** A switch to what was not offered, or by a head that can be read in two ways, must not reach the client (RFC 9110 section 7.8). */
function faultOf(head: Head, text: string, { rawHeaders, policy }: Exchange): string | undefined {
  const offered = protocolsIn(rawHeaders);
  const taken = protocolsIn(head.rawHeaders);
  if (taken.length === 0) return 'a 101 without Upgrade';
  if (!taken.every((name) => offered.includes(name))) return 'a switch that was not offered';
  if (policy.lenient || STRICT_HEAD.test(text)) return undefined;
  return 'the head of the 101 is not valid HTTP';
}

const STRICT_HEAD =
  /^HTTP\/1\.1 101(?: [\t\x20-\x7e\x80-\xff]*)?\r\n(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*\r\n)+\r\n$/;

function protocolsIn(raw: readonly string[]): string[] {
  return fieldValues(raw, 'upgrade')
    .flatMap((value) => value.toLowerCase().split(','))
    .map((name) => name.trim().replace(/\/.*/, ''))
    .filter((name) => name !== '');
}

/** Hands a reply that has begun to the HTTP client, so that it is framed, looked at and kept like any other. */
async function ordinary(bytes: Buffer, leg: Leg, job: LegJob): Promise<Received> {
  const { exchange, route, clock, replyTerms } = job;
  const { plan, via, meter, startedAt, dialled } = leg;
  const { socket } = dialled;
  // The request is out already, so what undici writes goes nowhere; but what came before it asked it would refuse.
  let reply: Buffer | undefined = bytes;
  socket.write = () => {
    if (reply !== undefined) socket.unshift(reply);
    reply = undefined;
    return true;
  };
  const connection = new Connection(
    plan.key,
    { ...dialled, rest: Buffer.alloc(0) },
    replyTerms.maxHeadBytes,
  );
  const { options, head } = requestOf(exchange, route, { ...plan, via });
  connection.wire.begin(head, exchange.policy.lenient);
  const onFree = () => connection.destroy();
  const { memory } = replyTerms;
  const sent = await send({
    ...{ clock, connection, exchange, options, memory, onFree },
    body: undefined,
  });
  return receive(sent, { clock, exchange, line: connection.wire, via, meter, startedAt });
}

function switched(
  { head, bytes, rest }: Extract<Answer, { kind: 'switched' }>,
  leg: Leg,
  { exchange, clock }: LegJob,
): Upgrade {
  const now = clock.now();
  exchange.stage = { kind: 'streaming', sinceAt: now, untilAt: undefined };
  const { signal } = exchange;
  const received = standing(leg, { ...head, headMs: now - leg.startedAt, signal });
  return Object.assign(received, { switched: { socket: leg.dialled.socket, head: bytes, rest } });
}

function failed(fault: Broken, leg: Leg): Received {
  endLeg(leg);
  return failedAttempt(fault, { via: leg.via, sent: true, meter: leg.meter });
}

function brokenReply({ code, detail }: Malformed): Broken {
  return { kind: 'broken', phase: 'first_byte', code, leg: 'origin', detail };
}

function malformed(code: FailureCode, detail: string): Malformed {
  return { kind: 'malformed', code, detail };
}
