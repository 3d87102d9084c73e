import { Readable } from 'node:stream';
import type { RequestBody } from '../exchange/ports.ts';

/** The body of a request that has none. */
export const noBody: RequestBody = {
  length: 0,
  present: false,
  replayable: true,
  open: () => Readable.from([]),
  rawTrailers: [],
};
