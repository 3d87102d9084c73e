import { clientBytes, uploadChunks } from './client-bytes.ts';
import { codings } from './codings.ts';
import { configText } from './config-text.ts';
import { h2Bytes } from './h2-bytes.ts';
import type { Kind } from './kind.ts';
import { replyBytes, replyChunks } from './reply-bytes.ts';
import { upstreamBytes } from './upstream-bytes.ts';
import { wishes } from './wishes.ts';

/** All kinds of input that are tried. */
export const kinds: readonly Kind[] = [
  clientBytes,
  uploadChunks,
  replyBytes,
  replyChunks,
  upstreamBytes,
  h2Bytes,
  codings,
  wishes,
  configText,
];
