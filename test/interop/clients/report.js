import { createHash } from 'node:crypto';

/** Prints one JSON line for a reply. */
export function report(url, status, body) {
  const sha256 = createHash('sha256').update(body).digest('hex');
  process.stdout.write(`${JSON.stringify({ url, status, sha256 })}\n`);
}
