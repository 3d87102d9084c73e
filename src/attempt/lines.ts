import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import { Connection, type ConnectionKey, Connections } from './connections.ts';
import type { Dial, Dialled } from './dial.ts';
import type { Broken } from './failure.ts';
import { Offers, type Protocol } from './h2-offers.ts';
import { H2Session } from './h2-session.ts';
import { H2Sessions } from './h2-sessions.ts';
import { connectionLine, type Line, type LineJob, streamLine } from './line.ts';
import type { ReplyTerms } from './send.ts';
import { step } from './step.ts';

/** A connection that is asked for something which must not be sent twice has been used a moment ago. */
const UNREPEATABLE_IDLE_MS = 500;

/** All lines to origins and upstreams: those that stand, and how new ones come about. */
export class Lines {
  readonly #clock: Clock;
  readonly #dial: Dial;
  readonly #track: (raw: Socket) => void;
  readonly #replyTerms: ReplyTerms;
  readonly #connections = new Connections();
  readonly #sessions = new H2Sessions();
  readonly #offers = new Offers();

  constructor(o: {
    readonly clock: Clock;
    readonly dial: Dial;
    readonly track: (raw: Socket) => void;
    readonly replyTerms: ReplyTerms;
  }) {
    this.#clock = o.clock;
    this.#dial = o.dial;
    this.#track = o.track;
    this.#replyTerms = o.replyTerms;
  }

  /** A line for one request: one that stands, or a new one. With `bornSince` only one that is younger than that. */
  async take(t: LineJob, bornSince: number): Promise<Line | Broken> {
    const { key, offer } = this.#terms(t);
    const maxIdleMs = t.plan.repeatable ? Number.POSITIVE_INFINITY : UNREPEATABLE_IDLE_MS;
    if (offer === 'h2') {
      const find = () => this.#sessions.take(key, { now: this.#clock.now(), maxIdleMs, bornSince });
      // Nothing is awaited between looking and announcing a dial, or everybody would dial.
      let session = find();
      const dial = session === undefined ? this.#sessions.dialling(key) : undefined;
      if (dial !== undefined) {
        await this.#other(dial, t);
        session = find();
      }
      if (session !== undefined) return streamLine(session, t);
    }
    const now = this.#clock.now();
    const idle = bornSince > 0 ? undefined : this.#connections.take(key, { maxIdleMs, now });
    return idle ? connectionLine(idle, this.#connections, t) : this.#dialled(key, offer, t);
  }

  /** Whether a refusal teaches something: an origin that was offered http/1.1 alone may speak h2 alone. */
  learn(end: Broken, t: LineJob): boolean {
    if (end.code !== 'no_common_protocol' || end.leg !== 'origin') return false;
    if (t.exchange.policy.http2 === 'never' || this.#terms(t).offer === 'h2') return false;
    this.#offers.learn(t.exchange, 'h2', this.#clock.now());
    return true;
  }

  /** The origin asked for HTTP/1.1. */
  avoidH2({ exchange }: LineJob): void {
    this.#offers.learn(exchange, 'http/1.1', this.#clock.now());
  }

  /** Closes all idle lines for one use: when one was stale, its neighbours are. */
  dropIdle(t: LineJob): void {
    const { key } = this.#terms(t);
    this.#connections.dropIdle(key);
    this.#sessions.dropIdle(key);
  }

  /** Closes a route's idle lines, and its busy ones when they end. */
  retire(routeId: string): void {
    this.#connections.retire(routeId);
    this.#sessions.retire(routeId);
  }

  /** Closes everything at once. */
  close(): void {
    this.#connections.close();
    this.#sessions.close();
  }

  #terms({ plan, exchange }: LineJob): { key: ConnectionKey; offer: Protocol } {
    const offer = plan.secure ? this.#offers.best(exchange, this.#clock.now()) : 'http/1.1';
    // Kept apart: a site must not see a client's protocol change with who went before it.
    const text = offer === 'h2' ? `${plan.key.text} h2` : plan.key.text;
    return { key: { ...plan.key, text }, offer };
  }

  /** Waits for a dial that is under way: if it brings a session, that may have room for this one too. */
  async #other(dial: Promise<void>, { exchange }: LineJob): Promise<void> {
    const now = this.#clock.now();
    const ms = exchange.policy.timeouts.connectMs;
    exchange.stage = { kind: 'dialling', sinceAt: now, untilAt: now + ms };
    await step<void>({ clock: this.#clock, signal: exchange.signal, ms }, ({ done }) => {
      void dial.then(done);
      return () => {};
    });
  }

  async #dialled(key: ConnectionKey, offer: Protocol, t: LineJob): Promise<Line | Broken> {
    const over = Promise.withResolvers<void>();
    if (offer === 'h2') this.#sessions.announce(key, over.promise);
    const dialling = this.#dialOrigin(key, offer, t);
    dialling.catch(() => over.resolve());
    const dialled = await dialling;
    if (dialled.kind === 'broken') {
      over.resolve();
      return dialled;
    }
    const { maxHeadBytes } = this.#replyTerms;
    if (dialled.protocol === 'h2') {
      const session = new H2Session(key, dialled, { clock: this.#clock, maxHeadBytes });
      this.#sessions.add(session);
      void session.settled.then(over.resolve);
      return streamLine(session, t);
    }
    over.resolve();
    const connection = new Connection(key, dialled, maxHeadBytes);
    this.#connections.add(connection);
    return connectionLine(connection, this.#connections, t);
  }

  #dialOrigin(key: ConnectionKey, offer: Protocol, t: LineJob): Promise<Dialled | Broken> {
    const { exchange, route, plan } = t;
    const { connectMs } = exchange.policy.timeouts;
    const now = this.#clock.now();
    exchange.stage = { kind: 'dialling', sinceAt: now, untilAt: now + connectMs };
    return this.#dial({
      target: exchange.target,
      way: route.way,
      reach: plan.reach,
      secure: plan.secure,
      offer,
      scope: key.text,
      connectMs,
      signal: exchange.signal,
      onSocket: (raw) => {
        this.#track(raw);
        t.meter.add(raw);
      },
    });
  }
}
