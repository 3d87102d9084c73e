import { dirname, resolve } from 'node:path';
import type { Policy } from '../core/policy.ts';
import { accessConflicts, isLoopback, loopConflicts, repeated } from './checks.ts';
import type { Config, TargetConfig, UpstreamConfig } from './config.ts';
import { type Fault, nearest } from './faults.ts';
import { valueAt } from './issues.ts';
import { dotted, type Path, type Places } from './places.ts';
import { toPatch } from './policy-patch.ts';
import type { TargetInput } from './policy-schema.ts';
import { type ConfigInput, configSchema } from './schema.ts';
import type { Sections } from './sections.ts';
import { readTlsFiles } from './tls-files.ts';
import { directUpstream, resolveUpstream } from './upstreams.ts';

interface Material {
  readonly file: string | undefined;
  readonly tree: Readonly<Record<string, unknown>>;
  readonly sections: Sections;
  readonly places: Places;
}

interface Assembled {
  /** undefined when a part is missing. */
  readonly config: Config | undefined;
  readonly faults: readonly Fault[];
}

/** Puts the parts together, and checks them against each other as far as they are there. */
export function assemble(material: Material): Assembled {
  const { sections, file } = material;
  const faults: Fault[] = [];
  const report: Report = (path, message, suggestion) =>
    faults.push(faultAt(material.places, path, message, suggestion));

  for (const { path, message } of accessConflicts({
    listen: sections.listen,
    clients: sections.clients?.length,
    admin: sections.admin,
  })) {
    report(path, message);
  }
  checkNames(material, report);
  const { upstreams, notices } = assembleUpstreams(material, report);
  const tls = sections.tls && readTlsFiles(sections.tls, file);
  for (const { path, message } of tls?.problems ?? []) report(['tls', ...path], message);
  checkStore(sections, report);
  if (!tls || !isWhole(sections)) return { config: undefined, faults };
  return {
    faults,
    config: {
      file,
      listen: sections.listen,
      admin: sections.admin,
      metrics: { maxLanes: sections.metrics.max_lanes },
      clients: sections.clients,
      auth: sections.auth,
      allowPrivateTargets:
        sections.allow_private_targets === 'auto'
          ? isLoopback(sections.listen.host)
          : sections.allow_private_targets,
      intercept: {
        mode: sections.intercept.mode,
        except: sections.intercept.except,
        only: sections.intercept.only,
        onUntrusted: sections.intercept.on_untrusted,
      },
      tls: tls.tls,
      drainMs: sections.drain,
      limits: {
        headerBytes: sections.limits.header_bytes,
        headMs: sections.limits.head,
        keepAliveMs: sections.limits.keep_alive,
        connections: sections.limits.connections,
        clientConnections: sections.limits.client_connections,
        tunnels: sections.limits.tunnels,
        streams: sections.limits.streams,
        tunnelIdleMs: sections.limits.tunnel_idle,
        replyHeaderBytes: sections.limits.reply_header_bytes,
      },
      memory: { maxHeldBytes: sections.memory.max_held },
      upstreams: upstreams.length > 0 ? upstreams : [directUpstream],
      policy: wholePolicy(sections.policy),
      profiles: Object.fromEntries(
        Object.entries(sections.profiles).map(([name, keys]) => [name, toPatch(keys)]),
      ),
      targets: sections.targets.map(target),
      // Redis is not in effect yet, which a notice says.
      store: { kind: sections.store.kind === 'memory' ? 'memory' : 'embedded' },
      log: logConfig(sections.log, file),
      earlyWarning: sections.early_warning,
      notices,
    },
  };
}

/** A relative path starts at the configuration's folder. */
function logConfig(keys: ConfigInput['log'], file: string | undefined): Config['log'] {
  const { level, format, attempts: name } = keys;
  const attemptBodies = { goodChars: keys.attempt_good_bodies, otherChars: keys.attempt_bodies };
  const attempts = name === null || file === undefined ? name : resolve(dirname(file), name);
  return { level, format, attempts, attemptBodies };
}

type Report = (path: Path, message: string, suggestion?: { suggestion?: string }) => void;

function faultAt(
  places: Places,
  path: Path,
  message: string,
  suggestion: { suggestion?: string } = {},
): Fault {
  const { file, line, column } = places.value(path);
  return { file, line, column, path: dotted(path), message, expected: '', ...suggestion };
}

function assembleUpstreams({ sections }: Material, report: Report) {
  const upstreams: UpstreamConfig[] = [];
  const notices: string[] = [];
  for (const [i, given] of (sections.upstreams ?? []).entries()) {
    // A hole: this entry has faults of its own.
    const resolved = given && resolveUpstream(given);
    if (resolved?.kind === 'fault') {
      const key = resolved.key === undefined ? [] : [resolved.key];
      report(['upstreams', i, ...key], resolved.message);
    }
    if (resolved?.kind !== 'ok') continue;
    upstreams.push(resolved.upstream);
    notices.push(...resolved.notices);
    for (const path of sections.listen ? loopConflicts(resolved.upstream, sections.listen) : []) {
      report(['upstreams', i, ...path], OWN_ADDRESS);
    }
  }
  return { upstreams, notices };
}

const OWN_ADDRESS =
  'this is the address that this proxy listens on; requests would go round for ever';

/** Names that are there twice, and names of upstreams that are not there. Read from the tree: entries with faults count. */
function checkNames({ tree, sections }: Material, report: Report): void {
  for (const list of ['upstreams', 'clients']) {
    for (const i of repeated(names(tree[list]))) {
      report([list, i, 'name'], 'this name is there twice');
    }
  }
  const upstreams = names(tree.upstreams).map(String);
  const known = upstreams.length > 0 ? upstreams : ['direct'];
  const users: Path[] = [
    ['policy'],
    ...Object.keys(asRecord(tree.profiles)).map((name) => ['profiles', name]),
    ...(sections.targets ?? names(tree.targets)).map((_, i) => ['targets', i]),
  ];
  for (const user of users) {
    const wanted = valueAt(tree, [...user, 'upstreams']);
    for (const [i, name] of Array.isArray(wanted) ? wanted.entries() : []) {
      if (typeof name !== 'string' || known.includes(name)) continue;
      report([...user, 'upstreams', i], 'no upstream has this name', nearest(name, known));
    }
  }
}

function names(list: unknown): readonly unknown[] {
  return Array.isArray(list) ? list.map((entry) => asRecord(entry).name) : [];
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function checkStore({ store }: Sections, report: Report): void {
  if (store?.kind === 'redis' && store.url === undefined) report(['store'], 'redis needs a url');
}

function isWhole(sections: Sections): sections is ConfigInput {
  return Object.keys(configSchema.shape).every(
    (key) => sections[key as keyof Sections] !== undefined,
  );
}

function wholePolicy(keys: ConfigInput['policy']): Policy {
  return { markers: [], replies: [], expect: [], ...toPatch(keys) } as Policy;
}

function target(given: TargetInput): TargetConfig {
  const { match, ...keys } = given;
  return {
    match: {
      host: match.host.toLowerCase(),
      path: match.path,
      method: match.method,
      client: match.client,
    },
    patch: toPatch(keys),
    lane: keys.pace === undefined ? undefined : laneText(match),
  };
}

/** Stays the same as long as the match does, wherever it stands in the file. */
function laneText(match: TargetInput['match']): string {
  const extras = [match.method, match.client === undefined ? undefined : `client=${match.client}`];
  return [
    match.host.toLowerCase() + (match.path ?? ''),
    ...extras.filter((extra) => extra !== undefined),
  ].join(' ');
}
