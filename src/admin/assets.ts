import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, sep } from 'node:path';

/** A file of the dashboard. */
export interface Asset {
  readonly contentType: string;
  readonly body: Buffer;
  /** For `ETag`. */
  readonly tag: string;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.webmanifest': 'application/manifest+json',
};

/** Reads the files of a folder once, by the paths under which they are served. Others cannot be reached. */
export function readAssets(folder: string): ReadonlyMap<string, Asset> {
  const assets = new Map<string, Asset>();
  for (const name of filesIn(folder)) {
    const contentType = TYPES[extname(name)];
    if (contentType === undefined) continue;
    const body = readFileSync(join(folder, name));
    const tag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    const path = `/${name.split(sep).join('/')}`;
    assets.set(path === '/index.html' ? '/' : path, { contentType, body, tag });
  }
  return assets;
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      Object.hasOwn(TYPES, extname(name)),
    );
  } catch {
    return [];
  }
}
