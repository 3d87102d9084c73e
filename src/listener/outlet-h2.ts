import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { keep } from '../exchange/headers.ts';
import { type Outlet, sendable } from './outlet.ts';

/** The two bad ends of a stream. */
export type Resets = Pick<Outlet, 'drop' | 'cutOff'>;

/** The reply on one HTTP/2 stream. Whatever ends it, its connection and the other streams go on. */
export function outletH2(
  stream: ServerHttp2Stream,
  method: string,
  { drop, cutOff }: Resets,
): Outlet {
  let rawTrailers: readonly string[] = [];
  stream.on('wantTrailers', () => stream.sendTrailers(trailersOf(rawTrailers)));
  return {
    isHead: method === 'HEAD',
    get headSent() {
      return stream.headersSent;
    },
    get finished() {
      return stream.writableFinished && !isBroken(stream);
    },
    get gone() {
      return stream.destroyed || stream.closed;
    },
    waits: false,
    closeAfter: () => {},
    sendContinue: () => {
      if (!stream.closed) stream.additionalHeaders({ ':status': 100 });
    },
    inform: (status, headers) => {
      if (!stream.closed) stream.additionalHeaders({ ':status': status, ...gathered(headers) });
    },
    takesTrailers: () => true,
    head: (status, _reason, headers) => {
      if (stream.closed || stream.destroyed) return;
      // Without a length and with `Trailer` only: asking for them costs a frame at the end.
      const mayTrail = !has(headers, 'content-length') || has(headers, 'trailer');
      const endStream = method === 'HEAD' || isBodiless(status);
      const fields = [':status', String(status), ...lowered(headers)];
      stream.respond(fields, {
        endStream,
        waitForTrailers: mayTrail && !endStream,
        // Not ours to add; Node's types do not know the option.
        ...{ sendDate: false },
      });
    },
    flush: () => {},
    write: (chunk) => stream.writable && stream.write(chunk),
    end: (trailers) => {
      rawTrailers = trailers;
      if (!stream.writableEnded) stream.end();
    },
    drop,
    cutOff,
    on: (event, listener) => stream.on(event, listener),
    off: (event, listener) => stream.off(event, listener),
  };
}

/** A stream that was reset also "finishes", with what it held thrown away. */
function isBroken({ aborted, rstCode }: ServerHttp2Stream): boolean {
  return aborted || (rstCode !== undefined && rstCode !== constants.NGHTTP2_NO_ERROR);
}

/** Node ends the stream at these, whatever it is told. */
const isBodiless = (status: number): boolean => status === 204 || status === 205 || status === 304;

/** Names are in lower case on the wire (RFC 9113 section 8.2); values have no white space around them (8.2.1). */
const lowered = (headers: readonly string[]): string[] =>
  headers.map((text, i) =>
    i % 2 === 0 ? text.toLowerCase() : text.replace(/^[\t ]+|[\t ]+$/g, ''),
  );

const has = (headers: readonly string[], name: string): boolean =>
  headers.some((text, i) => i % 2 === 0 && text.toLowerCase() === name);

/** As Node wants fields besides the final head: by name, equal ones in their order. */
function gathered(headers: readonly string[]): OutgoingHttpHeaders {
  const out: Record<string, string[]> = Object.create(null);
  const fields = lowered(headers);
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const [name = '', value = ''] = fields.slice(i, i + 2);
    const earlier = out[name] ?? [];
    out[name] = [...earlier, value];
  }
  return out;
}

/** Fields that say how to read a message cannot stand behind it (RFC 9110 section 6.5.1). */
function trailersOf(rawTrailers: readonly string[]): OutgoingHttpHeaders {
  const passable = keep(
    sendable(rawTrailers),
    (name) =>
      !/^(?:connection|keep-alive|proxy-connection|transfer-encoding|upgrade|te|content-length|trailer)$/.test(
        name,
      ),
  );
  return gathered(passable);
}
