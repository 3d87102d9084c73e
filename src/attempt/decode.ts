import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  gunzipSync,
} from 'node:zlib';
import type { BodySight } from '../core/verdict.ts';

/** A body as it reads with its content codings taken off, as far as it was looked at. */
export interface Decoded {
  readonly bytes: Buffer;
  readonly coding: Extract<BodySight, { kind: 'seen' }>['coding'];
}

interface Bounds {
  readonly maxBytes: number;
  /** Whether the encoded bytes are all there: only then an early end means something. */
  readonly whole: boolean;
}

/** The content codings that can be taken off. */
export type Coding = 'gzip' | 'deflate' | 'br' | 'zstd';

/** Pages reach 50:1 at the very most, while deflate alone can do 1000:1. */
export const BOMB_RATIO = 250;
const MAX_CODINGS = 4;
// What several codings are given in between.
const LAYER_FACTOR = 4;
const NAMES: ReadonlyMap<string, Coding> = new Map([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
  ['zstd', 'zstd'],
]);

/** Takes the codings off a copy of a body. Never throws, and never makes more than `maxBytes` of it. */
export async function decode(
  encoded: Buffer,
  contentEncoding: string | undefined,
  bounds: Bounds,
): Promise<Decoded> {
  const codings = codingsOf(contentEncoding);
  const start = encoded.subarray(0, bounds.maxBytes);
  if (codings.length > MAX_CODINGS) return { bytes: start, coding: 'unknown' };
  if (codings.length === 0 || encoded.length === 0) return { bytes: start, coding: 'ok' };
  let bytes = encoded;
  let { whole } = bounds;
  let isShort = false;
  for (let i = codings.length - 1; i >= 0; i--) {
    const coding = codings[i];
    if (coding === undefined) return { bytes: start, coding: 'unknown' };
    const maxBytes = i === 0 ? bounds.maxBytes : bounds.maxBytes * LAYER_FACTOR;
    const layer = await takeOff(coding, bytes, { maxBytes, whole });
    switch (layer.end) {
      case 'bomb':
        return { bytes: layer.bytes.subarray(0, bounds.maxBytes), coding: 'bomb' };
      case 'broken': {
        // Often a plain body under a wrong label: then its own text says most.
        const found = layer.bytes.subarray(0, bounds.maxBytes);
        return { bytes: found.length > 0 ? found : start, coding: 'broken' };
      }
      case 'short':
        isShort = true;
        whole = false;
        break;
      case 'full':
        whole = false;
        break;
      case 'ended':
        break;
    }
    bytes = layer.bytes;
  }
  return { bytes, coding: isShort ? 'cut_short' : 'ok' };
}

/** The codings in the order in which they were put on; undefined for one that is not known. */
export function codingsOf(contentEncoding: string | undefined): (Coding | undefined)[] {
  return (contentEncoding ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity')
    .map((name) => NAMES.get(name));
}

interface Layer {
  readonly bytes: Buffer;
  /** `full`: stopped at the bound. `short`: the coded stream has no end. */
  readonly end: 'ended' | 'full' | 'short' | 'broken' | 'bomb';
}

async function takeOff(coding: Coding, encoded: Buffer, bounds: Bounds): Promise<Layer> {
  const quick = coding === 'gzip' && bounds.whole ? takenOffAtOnce(encoded, bounds) : undefined;
  if (quick) return quick;
  const layer = await run(decoderFor(coding, encoded, bounds.whole), encoded, bounds);
  const failed = layer.end === 'short' || layer.end === 'broken';
  if (coding !== 'gzip' || !failed) return layer;
  // Without its checksum, or with rubbish behind it, a gzip body is taken as browsers take it.
  const payload = gzipPayload(encoded);
  if (payload === undefined) return layer;
  const bare = await run(createInflateRaw(), payload, bounds);
  return bare.end === 'short' || bare.end === 'broken' ? layer : bare;
}

const AT_ONCE_BYTES = 65_536;

/** Most pages are small, gzipped and whole: for them a stream costs more than the decoding. All else takes the long way. */
function takenOffAtOnce(encoded: Buffer, { maxBytes }: Bounds): Layer | undefined {
  if (encoded.length > AT_ONCE_BYTES || maxBytes < 1) return undefined;
  try {
    const bytes = gunzipSync(encoded, { maxOutputLength: maxBytes });
    return bytes.length < maxBytes ? { bytes, end: 'ended' } : undefined;
  } catch {
    return undefined;
  }
}

type Decoder = Transform & { readonly bytesWritten: number };

function decoderFor(coding: Coding, encoded: Buffer, whole: boolean): Decoder {
  const flush = { finishFlush: whole ? constants.Z_FINISH : constants.Z_SYNC_FLUSH };
  switch (coding) {
    case 'gzip':
      return createGunzip(flush);
    case 'deflate':
      // Some servers send the bare stream under this name, without zlib's header.
      return hasZlibHeader(encoded) ? createInflate(flush) : createInflateRaw(flush);
    case 'br':
      return createBrotliDecompress(whole ? {} : { finishFlush: constants.BROTLI_OPERATION_FLUSH });
    case 'zstd':
      return createZstdDecompress(whole ? {} : { finishFlush: constants.ZSTD_e_flush });
  }
}

function run(decoder: Decoder, encoded: Buffer, bounds: Bounds): Promise<Layer> {
  const { promise, resolve } = Promise.withResolvers<Layer>();
  const chunks: Buffer[] = [];
  let total = 0;
  const finish = (end: Layer['end']) => {
    resolve({ bytes: Buffer.concat(chunks).subarray(0, bounds.maxBytes), end });
    decoder.destroy();
  };
  decoder.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    total += chunk.length;
    if (total < bounds.maxBytes) return;
    // How much of the input that took is known only here; `total` may stand on the last of it.
    const taken = Math.max(1, decoder.bytesWritten);
    finish(total / taken > BOMB_RATIO ? 'bomb' : 'full');
  });
  decoder.on('end', () => finish('ended'));
  decoder.on('error', (error: NodeJS.ErrnoException) => {
    finish(error.code === 'Z_BUF_ERROR' ? 'short' : 'broken');
  });
  decoder.end(encoded);
  return promise;
}

/** Whether a deflate body begins with zlib's header (RFC 1950 section 2.2). */
export function hasZlibHeader(bytes: Buffer): boolean {
  const [first = 0, second = 0] = bytes;
  return (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0;
}

/** The deflate stream behind a gzip header (RFC 1952 section 2.3). */
export function gzipPayload(bytes: Buffer): Buffer | undefined {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b || bytes[2] !== 8) return undefined;
  const flags = bytes[3] ?? 0;
  let at = 10;
  if (flags & 4) at += 2 + (bytes.length >= at + 2 ? bytes.readUInt16LE(at) : 0);
  for (const flag of [8, 16]) {
    if (!(flags & flag)) continue;
    const end = bytes.indexOf(0, at);
    if (end === -1) return undefined;
    at = end + 1;
  }
  if (flags & 2) at += 2;
  return at < bytes.length ? bytes.subarray(at) : undefined;
}
