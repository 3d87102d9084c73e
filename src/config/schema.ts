import * as z from 'zod';
import { limitsSchema } from './limits-schema.ts';
import { policySchema, profileSchema, targetSchema } from './policy-schema.ts';
import { adminAddress, listenAddress } from './proxy-url.ts';
import { autoFlag, duration, size, whole } from './scalars.ts';
import { group, option, required, setting } from './setting.ts';
import { hostGlob, secretText, text, textOf, webUrl } from './texts.ts';
import { upstreamSchema } from './upstream-schema.ts';

const clientName = textOf({
  expects: 'a name without spaces and colons',
  test: /^[^\s:]+$/,
});
const profileName = textOf({
  expects: 'a profile name of letters, digits and _',
  test: /^[A-Za-z0-9_]+$/,
});
const redisUrl = textOf({
  expects: 'a redis:// or rediss:// URL',
  test: /^rediss?:\/\//,
  secret: true,
});

/** Every setting: its type, its default, and one sentence of what it is and why. */
export const configSchema = z.strictObject({
  listen: setting(listenAddress, '127.0.0.1:8888', 'Where clients find the proxy.'),
  admin: group(
    {
      listen: setting(
        adminAddress,
        '127.0.0.1:8889',
        'Where the admin API and the dashboard are; off: nowhere. Read at start.',
      ),
      token: setting(secretText.nullable(), null, 'Bearer token for it; required off loopback.'),
    },
    'The admin server.',
  ),
  clients: setting(
    z.array(
      z.strictObject({
        name: required(clientName, 'The name in the proxy user name.'),
        password: required(secretText, 'The proxy password.'),
      }),
    ),
    [],
    'Who may use the proxy; required as soon as it listens off loopback.',
  ),
  auth: setting(
    z.enum(['optional', 'required']),
    'optional',
    'required answers 407 first: browsers, git and Java send credentials only then.',
  ),
  allow_private_targets: setting(
    autoFlag,
    'auto',
    'Whether private addresses may be targets; auto: while listening on loopback only. Link-local metadata addresses never are.',
  ),
  intercept: group(
    {
      mode: setting(
        z.enum(['all', 'none']),
        'all',
        'Whether TLS inside tunnels is opened, which judging and retrying need.',
      ),
      except: setting(z.array(hostGlob), [], 'Host globs that are never opened.'),
      only: setting(z.array(hostGlob), [], 'If not empty: only these are opened.'),
      on_untrusted: setting(
        z.enum(['fail', 'tunnel']),
        'fail',
        "What to do for a client that refused the proxy's certificate for a host: fail again, or pass its next tunnels there through unopened, for an hour.",
      ),
    },
    'Opening of TLS.',
  ),
  tls: group(
    {
      extra_ca: setting(
        z.array(text),
        [],
        'PEM files of further CAs, for origins and https upstreams; relative to this file.',
      ),
      insecure_hosts: setting(
        z.array(hostGlob),
        [],
        'Host globs whose certificates are not checked.',
      ),
      client_certs: setting(
        z.array(
          z.strictObject({
            host: required(hostGlob, 'Host glob of the origins that ask for it.'),
            cert: required(text, 'PEM file of the certificate.'),
            key: required(text, 'PEM file of its key.'),
          }),
        ),
        [],
        'Certificates for origins that ask for one.',
      ),
    },
    'TLS towards origins and upstreams.',
  ),
  drain: setting(duration, '30s', 'How long running exchanges may take to finish after SIGTERM.'),
  limits: limitsSchema,
  memory: group(
    {
      max_held: setting(
        size,
        '256MiB',
        'Bodies in memory, all together: requests kept for another try, replies held for a look. Beyond it requests are streamed and sent once, and replies are judged by their first piece.',
      ),
    },
    'What may be kept in memory.',
  ),
  upstreams: setting(
    z.array(upstreamSchema),
    [],
    'Ways out; the first is preferred, the next is used when one is out. Empty: direct.',
  ),
  policy: policySchema,
  profiles: setting(
    z.record(profileName, profileSchema),
    {},
    'Named sets of policy keys; a client picks one by -profile-NAME in its user name or by the Forbear-Profile header.',
  ),
  targets: setting(
    z.array(targetSchema),
    [],
    'What differs for some sites; the first match wins and is merged over policy.',
  ),
  store: group(
    {
      kind: setting(
        z.enum(['embedded', 'memory', 'redis']),
        'embedded',
        'Where state and dead letters are kept: in a file of the home folder, or in memory only, gone with the process. Read at start.',
        { when: ['redis'] },
      ),
      url: option(redisUrl, 'The address of Redis or Valkey.', {}),
    },
    'State that outlives the process.',
  ),
  log: group(
    {
      level: setting(
        z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']),
        'info',
        'The least important kind of line that is written.',
      ),
      format: setting(
        z.enum(['auto', 'pretty', 'json']),
        'auto',
        'auto: pretty on a terminal, JSON elsewhere.',
      ),
      attempts: setting(
        text.nullable(),
        null,
        'File for a line of JSON per attempt, for forbear replay; relative to this file; null: none. Read at start.',
      ),
      attempt_bodies: setting(
        size,
        '2KiB',
        'How much of an inspected body such a line holds (in characters), where the reply was not good; 0: none. Read at start.',
      ),
      attempt_good_bodies: setting(
        size,
        '0B',
        'The same for good replies; forbear replay needs it to try new rules on what passes now. Read at start.',
      ),
    },
    'The log.',
  ),
  early_warning: group(
    {
      webhook: setting(
        webUrl.nullable(),
        null,
        'Where each early warning and each all-clear is posted, as JSON; null: nowhere.',
      ),
    },
    'Warnings that the attempts of a lane come to something else than usual.',
  ),
  metrics: group(
    {
      max_lanes: setting(
        whole({ min: 1 }),
        200,
        'Lanes with labels of their own in metrics; the rest is counted as other.',
      ),
    },
    'Prometheus metrics.',
  ),
});

export type ConfigInput = z.output<typeof configSchema>;
