import { constants, type ServerHttp2Stream } from 'node:http2';
import type { Clock } from '../clock.ts';
import { fieldValue, type RawHeaders } from '../core/fields.ts';
import type { BodySource } from '../exchange/body.ts';
import { readH2Request, splitHead } from './h2-request.ts';
import { type H2Wish, serveSocket } from './h2-socket.ts';
import type { Channel, Line } from './lines.ts';
import type { ListenerDeps } from './listener-deps.ts';
import { outletH2, type Resets } from './outlet-h2.ts';
import { unknownExpectation } from './problem.ts';
import { attend, turnAway, type Visit } from './visit.ts';

/** An HTTP/2 connection inside an opened tunnel. */
export interface H2Line {
  readonly line: Line & { readonly channel: Channel };
  /** The name for which the client has seen a certificate. */
  readonly servername: string | undefined;
  /** Called when a stream was reset, but not by us. */
  readonly onReset: () => void;
}

/** One stream as it opens: its field block as it came, and whether it has ended with it. */
export interface Opened {
  readonly stream: ServerHttp2Stream;
  readonly block: RawHeaders;
  readonly body: 'none' | 'follows';
}

/** Serves one stream: an exchange of its own, like a request on a connection of its own. Never rejects. */
export async function serveStream(
  { stream, block, body }: Opened,
  { line, servername, onReset }: H2Line,
  deps: ListenerDeps,
): Promise<void> {
  const head = splitHead(block);
  const { clock } = deps;
  const resets = resetting(stream, onReset, clock);
  const visit = visitOf(stream, { line, method: head.method, block, clock, resets });
  if (line.condemned || stream.closed) return;
  const read = readH2Request(block, head, { line, servername, body }, deps.config());
  if (read.kind === 'refused') return turnAway(visit, read.refusal, deps);
  if (visit.expects === 'unknown') return turnAway(visit, unknownExpectation, deps);
  if (head.protocol === undefined) return attend(visit, read.value, deps);
  const { reset } = resets;
  const wish: H2Wish = { stream, visit, asked: read.value, protocol: head.protocol, reset };
  return serveSocket(wish, deps);
}

/** A client that takes nothing does not hold up the end of a reply that broke off for longer. */
const FLUSH_MS = 1_000;

/** Ends a stream with an error, and tells this from the client's doing so. */
function resetting(
  stream: ServerHttp2Stream,
  onReset: () => void,
  clock: Pick<Clock, 'after'>,
): Resets & { readonly reset: () => void } {
  let isOurs = false;
  const onAborted = () => {
    if (isOurs) return;
    // Else Node ends the readable side as if all had come; but not while the library is in the middle of it.
    process.nextTick(() => {
      stream.destroy();
      onReset();
    });
  };
  // Streams are told of late: what came in the same packet has happened already.
  if (stream.aborted) onAborted();
  else stream.once('aborted', onAborted);
  const reset = () => {
    isOurs = true;
    // Not `close`: that ends the stream first, and with nothing left to write END_STREAM goes out instead.
    stream.destroy(new Error('The reply broke off.'));
  };
  return {
    drop: () => {
      isOurs = true;
      stream.close(constants.NGHTTP2_CANCEL);
    },
    reset,
    cutOff: () => {
      if (!stream.writable) return reset();
      // A reset overtakes all that is not written yet, the head included.
      const cancel = clock.after(FLUSH_MS, reset);
      stream.write('', () => {
        cancel();
        reset();
      });
    },
  };
}

interface Described {
  readonly line: Line;
  readonly method: string;
  readonly block: RawHeaders;
  readonly clock: Pick<Clock, 'after'>;
  readonly resets: Resets;
}

function visitOf(
  stream: ServerHttp2Stream,
  { line, method, block, clock, resets }: Described,
): Visit {
  return {
    line,
    source: sourceOf(stream),
    outlet: outletH2(stream, method, resets),
    overH2: true,
    expects: expectationOf(block),
    onGone: (leave) => {
      line.running.add(leave);
      // Told at once when the client resets the stream; its body must not pass for a whole one.
      stream.on('aborted', leave);
      stream.on('close', leave);
      return () => {
        line.running.delete(leave);
        stream.off('aborted', leave);
        stream.off('close', leave);
      };
    },
    onHead: () => {},
    beforeEnd: async () => {},
    settle: async (lingerMs) => endUpload(stream, lingerMs, clock),
  };
}

/**
 * What the client still sends is for nobody (RFC 9113 section 8.1). A reset overtakes all that is not written yet,
 * END_STREAM included, so until that has gone out the rest is read and dropped.
 */
function endUpload(stream: ServerHttp2Stream, lingerMs: number, clock: Pick<Clock, 'after'>): void {
  if (stream.closed || stream.readableEnded) return;
  const stop = () => stream.close(constants.NGHTTP2_NO_ERROR);
  const look = () => {
    if (!stream.closed && stream.state.localClose === 1) stop();
  };
  stream.once('close', clock.after(lingerMs, stop));
  stream.on('data', look);
  setImmediate(look);
}

function sourceOf(stream: ServerHttp2Stream): BodySource {
  const rawTrailers: string[] = [];
  stream.on('trailers', (_fields: unknown, _flags: unknown, raw: readonly string[]) => {
    rawTrailers.push(...raw);
  });
  return Object.assign(stream, { rawTrailers });
}

function expectationOf(block: RawHeaders): Visit['expects'] {
  const expects = fieldValue(block, 'expect')?.toLowerCase();
  if (expects === undefined) return 'nothing';
  return expects === '100-continue' ? 'continue' : 'unknown';
}
