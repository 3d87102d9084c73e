import * as zlib from 'node:zlib';
import { textOf } from '../../src/attempt/charset.ts';
import { decode } from '../../src/attempt/decode.ts';
import type { ResponseReply } from '../../src/core/verdict.ts';

/** A made-up reply as it would come over the wire. */
export interface CorpusReply {
  readonly name: string;
  readonly path: string;
  readonly status: number;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

export type Coding = 'identity' | 'gzip' | 'deflate' | 'br' | 'zstd';
export type Charset = 'utf-8' | 'utf-16le' | 'utf-16be' | 'iso-8859-1' | 'shift_jis';
/** How a reader learns the charset. */
export type Told = 'header' | 'mark' | 'meta' | 'nowhere';

const MAX_BYTES = 256 * 1024;

/** What the judgement gets to see of it: codings and charset taken off as for a live reply. */
export async function replyOf(sample: CorpusReply): Promise<ResponseReply> {
  const { status, rawHeaders, body } = sample;
  const bounds = { maxBytes: MAX_BYTES, whole: true };
  const decoded = await decode(body, fieldOf(rawHeaders, 'content-encoding'), bounds);
  return {
    kind: 'response',
    via: 'direct',
    status,
    rawHeaders,
    headMs: 5,
    body: {
      kind: 'seen',
      text: textOf(decoded.bytes, fieldOf(rawHeaders, 'content-type')),
      receivedBytes: body.length,
      end: 'complete',
      coding: decoded.coding,
    },
  };
}

/** Puts a text on the wire. */
export function onTheWire(sample: {
  readonly name: string;
  readonly path?: string;
  readonly status?: number;
  readonly headers?: readonly string[];
  readonly type?: string;
  readonly text: string;
  readonly charset?: Charset;
  readonly told?: Told;
  readonly coding?: Coding;
}): CorpusReply {
  const { charset = 'utf-8', told = 'header', coding = 'identity', type = 'text/html' } = sample;
  const label = charset === 'shift_jis' ? 'Shift_JIS' : charset;
  const meta = `<meta charset="${label}">`;
  const text = told === 'meta' ? sample.text.replace(/<head>|^/i, (at) => at + meta) : sample.text;
  const bytes = bytesOf(text, charset);
  const marked = told === 'mark' ? Buffer.concat([markFor(charset), bytes]) : bytes;
  return {
    name: sample.name,
    path: sample.path ?? '/items/7',
    status: sample.status ?? 200,
    rawHeaders: [
      ...(type === ''
        ? []
        : ['Content-Type', told === 'header' ? `${type}; charset=${label}` : type]),
      ...(coding === 'identity' ? [] : ['Content-Encoding', coding]),
      ...(sample.headers ?? []),
    ],
    body: CODERS[coding](marked),
  };
}

const CODERS: Readonly<Record<Coding, (bytes: Buffer) => Buffer>> = {
  identity: (bytes) => bytes,
  gzip: (bytes) => zlib.gzipSync(bytes),
  deflate: (bytes) => zlib.deflateSync(bytes),
  br: (bytes) =>
    zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } }),
  zstd: (bytes) => zlib.zstdCompressSync(bytes),
};

function bytesOf(text: string, charset: Charset): Buffer {
  switch (charset) {
    case 'utf-8':
      return Buffer.from(text, 'utf8');
    case 'utf-16le':
      return Buffer.from(text, 'utf16le');
    case 'utf-16be':
      return Buffer.from(text, 'utf16le').swap16();
    case 'iso-8859-1':
      return Buffer.from(text, 'latin1');
    case 'shift_jis':
      return Buffer.concat([...text].map((letter) => shiftJis().get(letter) ?? Buffer.from('?')));
  }
}

function markFor(charset: Charset): Buffer {
  if (charset === 'utf-16le') return Buffer.from([0xff, 0xfe]);
  if (charset === 'utf-16be') return Buffer.from([0xfe, 0xff]);
  return Buffer.from([0xef, 0xbb, 0xbf]);
}

let table: Map<string, Buffer> | undefined;

/** Node reads Shift_JIS but does not write it: the reading is turned around. */
function shiftJis(): Map<string, Buffer> {
  if (table) return table;
  table = new Map();
  const decoder = new TextDecoder('shift_jis');
  for (let code = 0; code < 0x80; code++) table.set(String.fromCharCode(code), Buffer.from([code]));
  for (let lead = 0x81; lead <= 0x9f; lead++) {
    for (let trail = 0x40; trail <= 0xfc; trail++) {
      const bytes = Buffer.from([lead, trail]);
      const letter = decoder.decode(bytes);
      if ([...letter].length === 1 && !table.has(letter)) table.set(letter, bytes);
    }
  }
  return table;
}

function fieldOf(rawHeaders: readonly string[], name: string): string | undefined {
  const at = rawHeaders.findIndex((text, i) => i % 2 === 0 && text.toLowerCase() === name);
  return at === -1 ? undefined : rawHeaders[at + 1];
}
