import { createHash } from 'node:crypto';
import { chance } from '../test/support/chance.ts';

/** One page of the site, as its path tells: what the whole of it is can be worked out by everyone. */
export interface Page {
  readonly id: string;
  readonly size: number;
  readonly framing: 'length' | 'chunked' | 'gzip' | 'gzip_close';
  readonly type: 'html' | 'file' | 'tagged';
  /** Bytes of the upload that belongs to it. */
  readonly upload: number;
  /** Whether the site itself behaves; what happens to the network is another matter. */
  readonly isCalm: boolean;
}

/** The path of a page. */
export function pathOf({ id, size, framing, type, upload, isCalm }: Page): string {
  return `/${isCalm ? 'calm' : 'wild'}/${id}/${size}/${framing}/${type}/${upload}`;
}

/** The page at a path. */
export function pageAt(path: string): Page {
  const [, mood, id = '', size, framing, type, upload] = path.split('/');
  return {
    id,
    size: Number(size),
    framing: framing as Page['framing'],
    type: type as Page['type'],
    upload: Number(upload),
    isCalm: mood === 'calm',
  };
}

/** The bytes that belong to a name: no part of them is like another, so that none can be lost or doubled unseen. */
export function bytesOf(name: string, size: number): Buffer {
  const words = new Uint32Array(Math.ceil(size / 8));
  let state = Math.floor(chance('bytes', name) * 2 ** 32) | 1;
  for (let i = 0; i < words.length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[i] = state;
  }
  return Buffer.from(Buffer.from(words.buffer).toString('hex').slice(0, size), 'latin1');
}

/** SHA-256 in hex. */
export const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** A field by which the site says what the whole body of its reply is. */
export const MEANT = 'x-meant';
