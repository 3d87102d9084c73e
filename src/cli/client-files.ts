import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { BUNDLE_VARIABLES, type CA_VARIABLES } from './client-variables.ts';
import { trustStore } from './java-trust-store.ts';
import type { Terminal } from './terminal.ts';

/** The CA as the proxy's authority gives it. */
export interface CaFiles {
  readonly caFile: string;
  readonly caPem: string;
  /** Bundled and system roots, what SSL_CERT_FILE named, and the CA. */
  bundleFile(): string;
}

/** Files and folders that client variables point at. */
export interface ClientFiles {
  readonly bundle: string;
  /** The CA, after whatever the user's own variable named. */
  readonly extraCa: (variable: (typeof CA_VARIABLES)[number]) => string;
  readonly wgetrc: string;
  readonly phpScanDir: string;
  readonly javaTrustStore: () => string;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;
const WGET_CA = /^\s*ca[_-]?certificate\s*=\s*(.+?)\s*$/im;

/**
 * Makes the files for one client environment below `home`. What the user has set already is kept by
 * adding to it. Files are named after their content, so environments that differ never overwrite
 * each other and the same one is written once.
 */
export function clientFiles(home: string, ca: CaFiles, env: Terminal['env']): ClientFiles {
  const keep = contentStore(join(home, 'clients'));
  const wgetrc = readText(env.WGETRC || join(env.HOME || homedir(), '.wgetrc')) ?? '';
  const wgetCa = WGET_CA.exec(wgetrc)?.[1];
  const bundle = withOwn(ca, [...BUNDLE_VARIABLES.map((name) => env[name]), wgetCa], keep);
  const wgetLine = `ca_certificate = ${bundle}\n`;
  const phpIni = `curl.cainfo=${quoted(bundle)}\nopenssl.cafile=${quoted(bundle)}\n`;
  const phpFolder = keep.folder('php', 'forbear.ini', phpIni);

  return {
    bundle,
    extraCa: (variable) => {
      const own = certificates(readText(env[variable])).filter((pem) => pem !== ca.caPem.trim());
      return own.length === 0
        ? ca.caFile
        : keep.file('extra-ca', '.pem', joined([...own, ca.caPem]));
    },
    // The last line wins in a wgetrc, so the user's own lines come first.
    wgetrc: keep.file('wgetrc', '', `${ended(wgetrc.replace(wgetLine, ''))}${wgetLine}`),
    phpScanDir: scanDir(env.PHP_INI_SCAN_DIR, phpFolder),
    javaTrustStore: () =>
      keep.file('java', '.jks', trustStore(certificates(readFileSync(bundle, 'utf8')))),
  };
}

/** The authority's bundle, plus certificates of other bundles the user's variables name. */
function withOwn(ca: CaFiles, named: readonly (string | undefined)[], keep: ContentStore): string {
  const file = ca.bundleFile();
  const text = readFileSync(file, 'utf8');
  const known = new Set(certificates(text));
  const others = [...new Set(named)].filter((path) => path !== undefined && path !== file);
  const missing = others
    .flatMap((path) => certificates(readText(path)))
    .filter((pem) => !known.has(pem));
  return missing.length === 0
    ? file
    : keep.file('bundle', '.pem', joined([text, ...new Set(missing)]));
}

/** An empty element stands for the folder that was compiled in. */
function scanDir(own: string | undefined, folder: string): string {
  if (own?.split(delimiter).includes(folder)) return own;
  return `${own ?? ''}${delimiter}${folder}`;
}

interface ContentStore {
  file(name: string, suffix: string, content: string | Uint8Array): string;
  folder(name: string, file: string, content: string): string;
}

function contentStore(root: string): ContentStore {
  const digest = (content: string | Uint8Array) =>
    createHash('sha256').update(content).digest('hex').slice(0, 12);
  return {
    file: (name, suffix, content) => {
      const path = join(root, `${name}-${digest(content)}${suffix}`);
      place(root, path, content);
      return path;
    },
    folder: (name, file, content) => {
      const folder = join(root, `${name}-${digest(content)}`);
      place(folder, join(folder, file), content);
      return folder;
    },
  };
}

// A wgetrc may hold passwords.
function place(folder: string, path: string, content: string | Uint8Array): void {
  if (existsSync(path)) return;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, content, { mode: 0o600 });
  renameSync(draft, path);
}

function readText(path: string | undefined): string | undefined {
  if (!path) return undefined;
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

const certificates = (text: string | undefined): readonly string[] =>
  text?.match(CERTIFICATE) ?? [];

const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

const joined = (parts: readonly string[]): string => parts.map(ended).join('');

const quoted = (text: string): string => `"${text.replaceAll('"', '\\"')}"`;
