import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The oldest Node major version that runs Forbear. */
export const NEEDED_MAJOR = 24;

/** The major version of the Node that runs this. */
export const thisMajor = Number(process.versions.node.split('.')[0]);

/**
 * Looks for the npm package `node` (a Node binary as a dependency) from each folder upwards.
 * Returns the path of a binary that is new enough, or undefined.
 */
export function findModernNode(folders) {
  const binary = process.platform === 'win32' ? 'node.exe' : 'node';
  for (const folder of folders) {
    for (let at = folder; ; at = dirname(at)) {
      const packaged = join(at, 'node_modules', 'node');
      const path = join(packaged, 'bin', binary);
      if (existsSync(path) && majorOf(packaged) >= NEEDED_MAJOR) return path;
      if (dirname(at) === at) break;
    }
  }
  return undefined;
}

function majorOf(packaged) {
  try {
    return Number.parseInt(
      JSON.parse(readFileSync(join(packaged, 'package.json'), 'utf8')).version,
      10,
    );
  } catch {
    return 0;
  }
}
