import { constants, performServerHandshake, type ServerHttp2Session } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { RawHeaders } from '../core/fields.ts';
import { stallMsUnder } from './deliver.ts';
import { Floodgate } from './floodgate.ts';
import { type H2Line, serveStream } from './h2-stream.ts';
import type { ListenerDeps } from './listener-deps.ts';

/** Streams that end before their reply does: a browser that leaves a page may give up as many as it may open. */
const RESETS = { burst: 200, perSecond: 20 };
/**
 * The library counts too, but ends with an INTERNAL_ERROR, so it comes second: for floods too fast to be looked at.
 * It refuses what is above `limits.streams`, which a client that does not know the limit yet may run into.
 */
const LIBRARY = {
  streamResetBurst: 5000,
  streamResetRate: RESETS.perSecond,
  maxSessionRejectedStreams: 1000,
};
/** PING, and SETTINGS ten times as dear. Libraries that measure bandwidth by PINGs send them by the hundred. */
const CONTROL_FRAMES = { burst: 1000, perSecond: 100 };
const SETTINGS_COST = 10;
/** A field block may have this many fields; what they may hold together is `limits.header_bytes`. */
const MAX_FIELDS = 2000;
/** What Node may hold for one stream in both directions, in MB (its unit). */
const MB_PER_STREAM = 0.25;
const LEAST_MB = 10;

/** The HTTP/2 connections inside opened tunnels. */
export class H2Sessions {
  readonly #deps: ListenerDeps;
  readonly #isDraining: () => boolean;
  readonly #sessions = new Set<ServerHttp2Session>();

  constructor(deps: ListenerDeps, isDraining: () => boolean) {
    this.#deps = deps;
    this.#isDraining = isDraining;
  }

  /** Speaks HTTP/2 with a client that has chosen it. */
  open(socket: TLSSocket, known: Pick<H2Line, 'line' | 'servername'>): void {
    const session = performServerHandshake(socket, optionsFor(this.#deps.config().limits));
    // Node takes a TLS socket that no server of its own has accepted for one that still connects.
    socket.emit('secureConnect');
    this.#sessions.add(session);
    session.once('close', () => this.#sessions.delete(session));
    // Sockets here may be half open; no client of HTTP/2 has a use for that.
    socket.once('end', () => session.destroy());
    session.on('error', () => {}); // It is followed by `close`.
    // It has read the certificate by now, and goes on.
    session.once('remoteSettings', () => {
      known.line.latest = { complete: true };
    });
    const onReset = watchFloods(session, this.#deps);
    const watch = new Watch(session, known, this.#deps);
    session.on('stream', (stream, _fields, flags, block: RawHeaders) => {
      stream.on('error', () => {}); // It is followed by `close`.
      watch.begin();
      stream.once('close', () => watch.end());
      const body = flags & constants.NGHTTP2_FLAG_END_STREAM ? 'none' : 'follows';
      void serveStream({ stream, block, body }, { ...known, onReset }, this.#deps);
    });
    if (this.#isDraining()) session.close();
  }

  /** Tells every client to open no more streams; those that are open go on to their end. */
  drain(): void {
    for (const session of this.#sessions) session.close();
  }
}

function optionsFor({ streams, headerBytes }: ReturnType<ListenerDeps['config']>['limits']) {
  return {
    settings: {
      maxConcurrentStreams: streams,
      // What is somewhat larger is answered 431 rather than with a stream error.
      maxHeaderListSize: headerBytes * 2,
      enableConnectProtocol: true,
    },
    maxHeaderListPairs: MAX_FIELDS,
    maxSessionMemory: Math.ceil(LEAST_MB + streams * MB_PER_STREAM),
    // Sites send such replies, and clients may see them.
    ...{ strictSingleValueFields: false },
    ...LIBRARY,
  };
}

/** Ends connections that cost more than they ask for (CVE-2023-44487 and its kind). Returns what is to be told of resets. */
function watchFloods(session: ServerHttp2Session, { clock }: ListenerDeps): () => void {
  const resets = new Floodgate(RESETS, clock.now());
  const frames = new Floodgate(CONTROL_FRAMES, clock.now());
  const end = (why: string) => {
    if (session.destroyed) return;
    const { NGHTTP2_ENHANCE_YOUR_CALM } = constants;
    session.goaway(NGHTTP2_ENHANCE_YOUR_CALM, undefined, Buffer.from(why));
    session.destroy(undefined, NGHTTP2_ENHANCE_YOUR_CALM);
  };
  session.on('ping', () => {
    if (!frames.pass(clock.now())) end('too many PING frames');
  });
  session.on('remoteSettings', () => {
    if (!frames.pass(clock.now(), SETTINGS_COST)) end('too many SETTINGS frames');
  });
  return () => {
    if (!resets.pass(clock.now())) end('too many streams were reset');
  };
}

/**
 * Watches that a connection is of use. Without streams it is closed after `limits.keep_alive`; with streams its
 * client must answer a PING now and then. The library stops reading behind an error of the protocol, and does not
 * notice then that a client has gone; nor does it always close the socket of a connection that it has ended.
 */
class Watch {
  #open = 0;
  #cancel: () => void = () => {};
  #answeredAt = 0;
  readonly #session: ServerHttp2Session;
  readonly #line: H2Line['line'];
  readonly #deps: ListenerDeps;

  constructor(session: ServerHttp2Session, { line }: Pick<H2Line, 'line'>, deps: ListenerDeps) {
    this.#session = session;
    this.#line = line;
    this.#deps = deps;
    line.raw.once('close', () => this.#cancel());
    this.#idle();
  }

  begin(): void {
    this.#open += 1;
    if (this.#open > 1) return;
    this.#answeredAt = this.#deps.clock.now();
    this.#ask();
  }

  end(): void {
    this.#open -= 1;
    if (this.#open === 0) this.#idle();
  }

  #after(ms: number, action: () => void): void {
    this.#cancel();
    if (!this.#line.raw.destroyed) this.#cancel = this.#deps.clock.after(ms, action);
  }

  #idle(): void {
    if (this.#session.destroyed) {
      this.#giveUp();
      return;
    }
    this.#after(this.#deps.config().limits.keepAliveMs, () => {
      this.#session.close();
      this.#giveUp();
    });
  }

  /** A client that takes nothing does not take a GOAWAY either. */
  #giveUp(): void {
    const { lingerMs } = this.#deps.config().policy.timeouts;
    this.#after(lingerMs, () => this.#line.raw.destroy());
  }

  #ask(): void {
    const { policy } = this.#deps.config();
    const { clock } = this.#deps;
    this.#after(policy.timeouts.idleMs, () => {
      const silentMs = clock.now() - this.#answeredAt;
      if (silentMs >= stallMsUnder(policy) || this.#session.destroyed) {
        this.#line.raw.destroy();
        return;
      }
      this.#session.ping((error) => {
        if (error === null) this.#answeredAt = clock.now();
      });
      this.#ask();
    });
  }
}
