import type { IncomingMessage, ServerResponse } from 'node:http';
import { interimHead, isSendable, type Outlet } from './outlet.ts';

const NOTHING = Buffer.alloc(0);

/** The reply to a request in HTTP/1. `cutOff` resets the connection: a clean end would pass a part for the whole. */
export function outletH1(
  request: IncomingMessage,
  response: ServerResponse,
  cutOff: () => void,
): Outlet {
  return {
    isHead: request.method === 'HEAD',
    get headSent() {
      return response.headersSent;
    },
    get finished() {
      return response.writableFinished;
    },
    get gone() {
      return response.destroyed || response.socket?.destroyed === true;
    },
    get waits() {
      return response.socket === null;
    },
    closeAfter: () => {
      response.shouldKeepAlive = false;
    },
    sendContinue: () => response.writeContinue(),
    // Node's own ways rewrite the fields; there is nothing else that could be on its way to the socket by now.
    inform:
      request.httpVersion === '1.0'
        ? undefined
        : (status, headers) => void response.socket?.write(interimHead(status, headers), 'latin1'),
    // Trailers go with chunked framing only, and Node throws where they are announced without.
    takesTrailers: (length) => length === 'unknown' && response.useChunkedEncodingByDefault,
    head: (status, reason, headers) => {
      if (reason === undefined) response.writeHead(status, [...headers]);
      else response.writeHead(status, reason, [...headers]);
    },
    // Node's own flush sends the head as UTF-8: every byte above 0x7F in it would come out as two.
    flush: () => {
      if (!response.destroyed) response.write(NOTHING);
    },
    write: (chunk) => response.write(chunk),
    end: (rawTrailers) => {
      if (response.chunkedEncoding) response.addTrailers(pairs(rawTrailers));
      response.end();
    },
    drop: () => response.destroy(),
    cutOff,
    on: (event, listener) => response.on(event, listener),
    off: (event, listener) => response.off(event, listener),
  };
}

function pairs(flat: readonly string[]): [string, string][] {
  const out: [string, string][] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const [name = '', value = ''] = flat.slice(i, i + 2);
    if (isSendable(value)) out.push([name, value]);
  }
  return out;
}
