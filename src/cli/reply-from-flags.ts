import { readFileSync } from 'node:fs';
import {
  brotliDecompressSync,
  constants,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from 'node:zlib';
import { fieldValue } from '../core/fields.ts';
import { mediaTypeMatches } from '../core/media-type.ts';
import type { InspectPolicy } from '../core/policy.ts';
import type { BodySight, ResponseReply, Via } from '../core/verdict.ts';
import { CommandError, systemCode } from './terminal.ts';

/** A reply as told on the command line. */
export interface ToldReply {
  readonly method: string;
  readonly status: number;
  /** `K: V` each. */
  readonly headers: readonly string[];
  /** A file, or `-` for standard input; absent when nothing is known of the body. */
  readonly body: string | undefined;
  readonly via: Via;
}

const STDIN = 0;
// A decoded body is looked at up to `inspect.bytes`; this bounds what a bomb can cost before that.
const LARGEST_DECODED = 64 * 1024 * 1024;
const NO_BODY_STATUSES = [204, 304];

/** Builds the facts that the judgement is made from, as if the reply had come over the wire. */
export function replyFromFlags(told: ToldReply, inspect: InspectPolicy): ResponseReply {
  const rawHeaders = told.headers.flatMap(parseHeader);
  return {
    kind: 'response',
    via: told.via,
    status: told.status,
    rawHeaders,
    body: sightOf(told, rawHeaders, inspect),
    headMs: 0,
  };
}

function parseHeader(line: string): readonly [string, string] {
  const colon = line.indexOf(':');
  const name = line.slice(0, Math.max(0, colon)).trim();
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) {
    throw new CommandError(`--header takes 'Name: value', not "${line}"`, 2);
  }
  return [name, line.slice(colon + 1).trim()];
}

function sightOf(
  { method, status, body }: ToldReply,
  rawHeaders: readonly string[],
  inspect: InspectPolicy,
): BodySight {
  if (method === 'HEAD' || status < 200 || NO_BODY_STATUSES.includes(status))
    return { kind: 'none' };
  if (body === undefined) return { kind: 'unseen' };
  const type = fieldValue(rawHeaders, 'content-type');
  if (type !== undefined && !mediaTypeMatches(inspect.types, type)) return { kind: 'unseen' };
  const bytes = readBody(body);
  const { content, coding } = decoded(bytes, fieldValue(rawHeaders, 'content-encoding'));
  return {
    kind: 'seen',
    text: text(content.subarray(0, inspect.bytes), type),
    receivedBytes: Math.min(bytes.length, inspect.holdBytes),
    end: bytes.length > inspect.holdBytes ? 'pending' : 'complete',
    coding,
  };
}

function readBody(file: string): Buffer {
  try {
    return readFileSync(file === '-' ? STDIN : file);
  } catch (error) {
    throw new CommandError(`cannot read --body ${file} (${systemCode(error) ?? error})`, 2);
  }
}

interface Decoded {
  readonly content: Buffer;
  readonly coding: Extract<BodySight, { kind: 'seen' }>['coding'];
}

/** A saved body may be encoded still, or decoded already by the tool that saved it. */
function decoded(bytes: Buffer, label: string | undefined): Decoded {
  const codings = (label ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim());
  let content = bytes;
  for (const name of codings.filter((name) => name !== '' && name !== 'identity').reverse()) {
    const decode = DECODERS[name];
    if (!decode) return { content, coding: 'unknown' };
    try {
      content = decode(content);
    } catch (error) {
      if (systemCode(error) === 'ERR_BUFFER_TOO_LARGE') return { content, coding: 'bomb' };
      return { content: bytes, coding: 'ok' };
    }
  }
  return { content, coding: 'ok' };
}

const zlib = { maxOutputLength: LARGEST_DECODED, finishFlush: constants.Z_SYNC_FLUSH };
const bound = { maxOutputLength: LARGEST_DECODED };

const DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: (bytes) => gunzipSync(bytes, zlib),
  'x-gzip': (bytes) => gunzipSync(bytes, zlib),
  // Sites send `deflate` with and without the zlib wrapper; only the first byte tells them apart.
  deflate: (bytes) =>
    ((bytes[0] ?? 0) & 0x0f) === 8 ? inflateSync(bytes, zlib) : inflateRawSync(bytes, zlib),
  br: (bytes) => brotliDecompressSync(bytes, bound),
  zstd: (bytes) => zstdDecompressSync(bytes, bound),
};

function text(content: Uint8Array, type: string | undefined): string {
  const charset = /charset\s*=\s*"?([^\s;"]+)/i.exec(type ?? '')?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(charset).decode(content);
  } catch {
    return new TextDecoder().decode(content);
  }
}
