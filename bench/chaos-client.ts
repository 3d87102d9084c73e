import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { root } from '../test/support/certificates.ts';
import type { Asked, Asking } from './chaos-asking.ts';
import { converseH2 } from './chaos-h2-client.ts';
import { judged, type Outcome, violation } from './chaos-judge.ts';
import { type Leg, LONGEST_STALL_MS, type Toxic } from './chaos-legs.ts';
import { GREETING } from './chaos-origin.ts';
import { bytesOf, pathOf } from './chaos-pages.ts';
import { Ear, type Reading, readReply } from './chaos-reader.ts';

/** Where to ask. */
export interface World {
  readonly near: Leg;
  readonly proxy: { readonly host: string; readonly port: number };
  readonly caPem: string;
  /** No client waits longer for a byte of a reply. */
  readonly limitMs: number;
  authorityFor(asking: Asking): string;
}

/** Asks as told over a connection of its own, and judges every answer. Never rejects. */
export async function converse(
  asking: Asking,
  world: World,
): Promise<{ readonly outcomes: readonly Outcome[]; readonly toxic: Toxic | undefined }> {
  const socket = connect(world.proxy);
  const client = new Client(asking, world, socket);
  let localPort = 0;
  try {
    await once(socket, 'connect');
    localPort = socket.localPort ?? 0;
    if (asking.leavesAfterMs !== undefined) {
      setTimeout(() => client.leave(), asking.leavesAfterMs).unref();
    }
    await client.talk();
  } catch (error) {
    client.note(error instanceof Ended ? error.outcome : brokenBy(error as Error));
  } finally {
    socket.destroy();
  }
  return { outcomes: client.outcomes, toxic: world.near.from(localPort)?.toxic };
}

/** Ends a conversation. */
class Ended extends Error {
  readonly outcome: Outcome;
  constructor(outcome: Outcome) {
    super(outcome.kind);
    this.outcome = outcome;
  }
}

/** Errors of the network have a code; those of this bench have none, and must not pass for weather. */
function brokenBy(error: Error & { code?: string }): Outcome {
  return error.code === undefined ? violation(`in the bench: ${error.stack}`) : { kind: 'broken' };
}

class Client {
  readonly outcomes: Outcome[] = [];
  readonly #asking: Asking;
  readonly #world: World;
  readonly #raw: Socket;
  #left = false;

  constructor(asking: Asking, world: World, raw: Socket) {
    this.#asking = asking;
    this.#world = world;
    this.#raw = raw;
    raw.on('error', () => {});
  }

  note(outcome: Outcome): void {
    const isMine = this.#left && outcome.kind === 'broken';
    this.outcomes.push(isMine ? { kind: 'left' } : outcome);
  }

  leave(): void {
    this.#left = true;
    this.#raw.resetAndDestroy();
  }

  async talk(): Promise<void> {
    switch (this.#asking.kind) {
      case 'plain':
        return this.#http(this.#ear(this.#raw));
      case 'secure':
        return this.#http(await this.#secured(this.#world.caPem));
      case 'h2':
      case 'h2_to_h1':
        return this.#h2();
      case 'blind_tls':
        return this.#http(await this.#secured(root));
      case 'blind_raw':
      case 'server_first':
        return this.#ownWords(await this.#tunnel());
      case 'switch':
        return this.#switched(this.#ear(this.#raw));
      case 'secure_switch':
        return this.#switched(await this.#secured(this.#world.caPem));
    }
  }

  #ear(socket: Socket): Ear {
    return new Ear(socket, () => this.#passage()?.held(performance.now()) ?? 0);
  }

  #passage() {
    return this.#world.near.from(this.#raw.localPort ?? 0);
  }

  /** Whether the network between client and proxy brings everything, and soon. */
  get #isNearCalm(): boolean {
    const kind = this.#passage()?.toxic.kind;
    return kind === 'clean' || kind === 'delay';
  }

  /** Beyond the first byte the far legs' own stalls count too: nobody times them out in a tunnel. */
  get #limitMs(): number {
    const { kind } = this.#asking;
    const isJudged = kind === 'plain' || kind === 'secure' || kind.startsWith('h2');
    return this.#world.limitMs + (isJudged ? 0 : 2 * LONGEST_STALL_MS);
  }

  async #wait<T>(ear: Ear, what: string, read: () => T | undefined): Promise<T> {
    const before = ear.bytes.length;
    const found = await ear.until(read, this.#limitMs);
    if (found !== 'closed' && found !== 'silent') return found as T;
    if (this.#left) throw new Ended({ kind: 'left' });
    if (found === 'silent') throw new Ended(violation(`hang: waiting for ${what}`));
    throw new Ended(this.#cutIn(what, before === 0 && ear.bytes.length === 0));
  }

  #cutIn(what: string, isMute: boolean): Outcome {
    const mayBeMute = /blind|first/.test(this.#asking.kind) && what !== 'CONNECT';
    const isDishonest = isMute && this.#isNearCalm && !mayBeMute && !what.startsWith('echo');
    return isDishonest ? violation(`no answer at all: ${what}`) : { kind: 'broken' };
  }

  async #reply(ear: Ear, method: string): Promise<Extract<Reading, { kind: 'whole' }>> {
    const reading = await this.#wait(ear, method, () => {
      const now = readReply(ear.bytes, method);
      return now.kind === 'more' ? undefined : now;
    });
    if (reading.kind !== 'whole') {
      throw new Ended(violation(reading.kind === 'bad' ? reading.why : 'unread'));
    }
    ear.drop(reading.used);
    return reading;
  }

  async #tunnel(): Promise<Ear> {
    const authority = this.#world.authorityFor(this.#asking);
    const ear = this.#ear(this.#raw);
    this.#raw.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${this.#login()}\r\n`);
    const reply = await this.#reply(ear, 'CONNECT');
    if (reply.status !== 200) throw new Ended(judged(reply, undefined));
    return ear;
  }

  /** TLS in a tunnel; an error in it is found by what it keeps silent. */
  async #secured(ca: string): Promise<Ear> {
    const ear = await this.#tunnel();
    if (ear.bytes.length > 0) throw new Ended(violation('the server spoke before the handshake'));
    this.#raw.removeAllListeners('data');
    const inner = connectTls({ socket: this.#raw, ca, servername: this.#nameFor() });
    inner.on('error', () => {});
    const secured = this.#ear(inner);
    let isOpen = false;
    inner.once('secureConnect', () => {
      isOpen = true;
    });
    await this.#wait(secured, 'handshake', () => isOpen || undefined);
    return secured;
  }

  async #h2(): Promise<void> {
    await this.#tunnel();
    this.#raw.removeAllListeners('data');
    const inner = connectTls({
      ...{ socket: this.#raw, ca: this.#world.caPem, servername: this.#nameFor() },
      ALPNProtocols: ['h2'],
    });
    inner.on('error', () => {});
    const outcomes = await converseH2(inner, this.#asking.requests, {
      authority: this.#world.authorityFor(this.#asking),
      limitMs: this.#limitMs,
      heldMs: () => this.#passage()?.held(performance.now()) ?? 0,
      isCalm: () => this.#isNearCalm,
      hasLeft: () => this.#left,
    });
    for (const outcome of outcomes) this.note(outcome);
  }

  /** The site's own certificate is for a name; ours is for whatever is asked. */
  #nameFor(): string {
    return this.#asking.kind === 'blind_tls' ? 'o.test' : 'chaos.test';
  }

  async #http(ear: Ear): Promise<void> {
    const { requests, closes } = this.#asking;
    for (const [at, asked] of requests.entries()) {
      const isLast = at === requests.length - 1;
      ear.socket.write(this.#worded(asked, closes && isLast));
      const reply = await this.#reply(ear, asked.method);
      this.note(judged(reply, asked));
      if (/close/i.test(reply.fields.get('connection') ?? '')) break;
    }
    await this.#nothingMore(ear);
  }

  #worded(asked: Asked, closes: boolean): Buffer {
    const { page, method } = asked;
    const authority = this.#world.authorityFor(this.#asking);
    const isPlain = this.#asking.kind === 'plain';
    const origin = isPlain ? `http://${authority}` : '';
    const lines = [`${method} ${origin}${pathOf(page)} HTTP/1.1`, `Host: ${authority}`];
    if (page.upload > 0) lines.push(`Content-Length: ${page.upload}`);
    if (closes) lines.push('Connection: close');
    const head = `${lines.join('\r\n')}\r\n${isPlain ? this.#login() : ''}\r\n`;
    return Buffer.concat([Buffer.from(head), bytesOf(`up${page.id}`, page.upload)]);
  }

  /** One answer for each request, and then the end or silence. */
  async #nothingMore(ear: Ear): Promise<void> {
    if (this.#asking.closes) await ear.until(() => (ear.bytes.length > 0 ? true : undefined), 5000);
    else await pause(30);
    if (ear.bytes.length > 0) {
      const said = JSON.stringify(ear.bytes.toString('latin1', 0, 80));
      this.note(violation(`a second answer: ${said}`));
    }
  }

  async #ownWords(ear: Ear): Promise<void> {
    const { page } = this.#asking.requests[0] as Asked;
    if (this.#asking.kind === 'server_first') {
      const size = GREETING.length;
      await this.#wait(ear, 'greeting', () => ear.bytes.length >= size || undefined);
      if (!ear.bytes.toString('latin1').startsWith(GREETING)) {
        throw new Ended(violation('another greeting than the server gave'));
      }
      ear.drop(size);
    }
    ear.socket.write(`ASK ${page.id} ${page.size}\n`);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(page.size);
    await this.#echo(ear, Buffer.concat([length, bytesOf(page.id, page.size)]));
  }

  /** Waits for these bytes; whatever was heard instead must have been a beginning of them. */
  async #echo(ear: Ear, meant: Buffer): Promise<void> {
    try {
      await this.#wait(ear, 'echo', () => ear.bytes.length >= meant.length || undefined);
      await pause(20);
      this.note({ kind: 'whole' });
    } finally {
      const heard = ear.bytes;
      if (heard.length > meant.length || !meant.subarray(0, heard.length).equals(heard)) {
        this.note(violation(`other bytes in a tunnel than were meant (${heard.length})`));
      }
    }
  }

  async #switched(ear: Ear): Promise<void> {
    const { page } = this.#asking.requests[0] as Asked;
    const authority = this.#world.authorityFor(this.#asking);
    const isPlain = this.#asking.kind === 'switch';
    const key = Buffer.from(page.id.padEnd(16, '.').slice(0, 16)).toString('base64');
    ear.socket.write(
      `GET ${isPlain ? `http://${authority}` : ''}/switch/${page.id} HTTP/1.1\r\nHost: ${authority}\r\n` +
        `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
        `Sec-WebSocket-Key: ${key}\r\n${isPlain ? this.#login() : ''}\r\n`,
    );
    const reply = await this.#reply(ear, 'GET');
    if (reply.status !== 101) throw new Ended(judged(reply, undefined));
    const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`);
    if (reply.fields.get('sec-websocket-accept') !== accept.digest('base64')) {
      throw new Ended(violation('a 101 for another key'));
    }
    const said = bytesOf(page.id, page.size);
    ear.socket.write(said);
    await this.#echo(ear, said);
  }

  #login(): string {
    const login = Buffer.from(`chaos-profile-${this.#asking.way}:x`).toString('base64');
    return `Proxy-Authorization: Basic ${login}\r\n`;
  }
}
