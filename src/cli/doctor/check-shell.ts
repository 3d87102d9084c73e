import { readFileSync } from 'node:fs';
import {
  BUNDLE_VARIABLES,
  CA_VARIABLES,
  NO_PROXY_VARIABLES,
  PROXY_VARIABLES,
} from '../client-variables.ts';
import type { Terminal } from '../terminal.ts';
import { type Finding, findings } from './finding.ts';

const { ok, warn } = findings('shell');
const RUN = 'start the client with forbear run, or eval "$(forbear env)"';

/**
 * The variables of this shell, as a client that is started here would read them. `proxy`: where ours is;
 * `caPem`: our CA, if there is one yet.
 */
export function checkShell(
  env: Terminal['env'],
  proxy: string,
  caPem: string | undefined,
): readonly Finding[] {
  const named = PROXY_VARIABLES.filter((name) => env[name]);
  const found = [...proxies(env, named, proxy), ...exemptions(env), ...trust(env, caPem)];
  if (env.NODE_TLS_REJECT_UNAUTHORIZED === '0') {
    found.push(
      warn(
        'NODE_TLS_REJECT_UNAUTHORIZED=0: Node verifies no certificate at all',
        'unset it: with the CA in NODE_EXTRA_CA_CERTS it is not needed',
      ),
    );
  }
  return found.length > 0 ? found : [ok('no variable is in the way')];
}

function proxies(env: Terminal['env'], named: readonly string[], proxy: string): Finding[] {
  if (named.length === 0) return [];
  const others = named.filter((name) => hostOf(env[name] ?? '') !== proxy);
  if (others.length > 0) {
    const text = `${others.join(', ')} ${others.length === 1 ? 'names' : 'name'} another proxy than ${proxy}`;
    return [
      warn(text, `${RUN}; to go on using that proxy, make it an upstream in the configuration`),
    ];
  }
  const missing = PROXY_VARIABLES.filter((name) => !env[name]);
  const found =
    missing.length > 0
      ? [
          warn(
            `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not set: some clients read no other`,
            RUN,
          ),
        ]
      : [];
  if (env.NODE_USE_ENV_PROXY !== '1') {
    found.push(
      warn('NODE_USE_ENV_PROXY is not 1: Node looks at no proxy variable without it', RUN),
    );
  }
  return found;
}

/** The proxy that a variable names, as `host:port`; clients disagree about the scheme in front. */
function hostOf(url: string): string {
  return URL.parse(url.includes('://') ? url : `http://${url}`)?.host ?? url;
}

function exemptions(env: Terminal['env']): Finding[] {
  return NO_PROXY_VARIABLES.flatMap((name) => {
    const entries = (env[name] ?? '').split(',').map((entry) => entry.trim());
    if (entries.includes('*')) {
      return [warn(`${name} is *: most clients go past every proxy`, `unset ${name}`)];
    }
    const odd = entries.filter((entry) => /^\*\.|\/\d+$|^[^:]+:\d+$/.test(entry));
    if (odd.length === 0) return [];
    const text = `${name} has ${odd.join(', ')}, which clients do not agree about`;
    return [
      warn(
        text,
        'write a host and its dot form (shop.test,.shop.test), and each address by itself',
      ),
    ];
  });
}

function trust(env: Terminal['env'], caPem: string | undefined): Finding[] {
  const isOurs = PROXY_VARIABLES.some((name) => env[name]);
  return [...BUNDLE_VARIABLES, ...CA_VARIABLES].flatMap((name) => {
    const file = env[name];
    if (!file) return [];
    let text: string;
    try {
      text = readFileSync(file, 'latin1');
    } catch {
      return [
        warn(
          `${name} names ${file}, which cannot be read`,
          `unset ${name}, or name a file that is there`,
        ),
      ];
    }
    if (!isOurs || caPem === undefined || text.includes(caPem.trim())) return [];
    return [warn(`${name} names ${file}, in which our CA is not`, RUN)];
  });
}
