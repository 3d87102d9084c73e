import type { Config, TlsConfig, UpstreamConfig } from './config.ts';

const BLANK = '***';

/** A copy for display, as plain JSON data: everything that lets somebody in is blanked. */
export function blankSecrets(config: Config): unknown {
  const blanked = {
    ...config,
    admin: { ...config.admin, token: blank(config.admin.token) },
    clients: config.clients.map(({ name }) => ({ name, password: BLANK })),
    tls: blankTls(config.tls),
    upstreams: config.upstreams.map(blankUpstream),
    // Such addresses hold their key in the path.
    earlyWarning: { webhook: blank(config.earlyWarning.webhook) },
  };
  // A URL anywhere else, as in a probe, may hold credentials, too.
  return JSON.parse(JSON.stringify(blanked), (_, value) =>
    typeof value === 'string'
      ? value.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, `$1${BLANK}@`)
      : value,
  );
}

function blankTls(tls: TlsConfig) {
  return {
    ...tls,
    extraCa: `${tls.extraCa.length} files`,
    clientCerts: tls.clientCerts.map(({ host }) => ({ host, cert: BLANK, key: BLANK })),
  };
}

/** User names go as well: some providers put a key there. */
function blankUpstream(upstream: UpstreamConfig) {
  switch (upstream.kind) {
    case 'direct':
      return upstream;
    case 'list':
      return { ...upstream, routes: upstream.routes.map(blankLogin) };
    case 'gateway':
      return {
        ...blankLogin(upstream),
        headers: blankValues(upstream.headers),
        variables: { ...upstream.variables, ...blankValues(pick(upstream.variables)) },
      };
  }
}

function pick(variables: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(variables).filter(([name]) => name === 'account' || name === 'password'),
  );
}

function blankLogin<T extends { username: string | undefined; password: string | undefined }>(
  given: T,
) {
  return { ...given, username: blank(given.username), password: blank(given.password) };
}

function blankValues(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.keys(values).map((name) => [name, BLANK]));
}

function blank<T extends null | undefined>(secret: string | T): string | T {
  return typeof secret === 'string' ? BLANK : secret;
}
