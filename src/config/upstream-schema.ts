import * as z from 'zod';
import { presetNames } from '../core/presets.ts';
import { gatewayUrl, proxyUrl } from './proxy-url.ts';
import { decimal, duration, flag, share } from './scalars.ts';
import { option, required, setting } from './setting.ts';
import {
  credentialTemplate,
  headerName,
  headerTemplate,
  secretText,
  textOf,
  webUrl,
  word,
} from './texts.ts';

const upstreamName = textOf({
  expects: 'a name of letters, digits, - _ and .',
  test: /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
});

const exitIp = z
  .strictObject({
    header: option(headerName, 'A reply header of the upstream that tells the exit address.'),
    url: option(webUrl, 'A page that echoes the address it is asked from.'),
  })
  .refine((given) => (given.header === undefined) !== (given.url === undefined), {
    error: 'expected one of header and url',
  });

/** One upstream: `direct`, a list of routes, a gateway URL, or a provider with a preset. */
export const upstreamSchema = z.strictObject({
  name: required(
    upstreamName,
    'Its name in logs and metrics; `direct` alone is the way without a proxy.',
  ),
  routes: option(
    z.array(proxyUrl).min(1),
    'Proxy URLs, each one address: http, https, socks5 or socks5h. Names of targets are resolved there.',
  ),
  gateway: option(
    gatewayUrl,
    'One URL that gives many addresses: user name, password, host and port are templates, as in {session|alnum:12} and [-country-{country|lower}]. A URL pasted from a dashboard works too.',
  ),
  provider: option(
    z.enum(presetNames as [string, ...string[]]),
    'A provider whose gateway is known; the keys below fill in its syntax.',
  ),
  username: option(
    credentialTemplate,
    'User name for the gateway, as it stands (not percent-decoded).',
  ),
  password: option(
    secretText,
    'Password for the gateway or provider, as it stands (not percent-decoded, no template).',
  ),
  account: option(word, "The provider's account name, without its parameters."),
  zone: option(word, "The provider's zone."),
  country: option(word, 'Two-letter country code; a client may ask for another one.'),
  region: option(word, 'Region or state, as the provider spells it.'),
  city: option(word, 'City, as the provider spells it.'),
  asn: option(word, 'Number of the network that addresses belong to.'),
  strict: option(
    flag,
    'Sessions end when their address goes, instead of being moved to another one, where the provider can do that.',
  ),
  headers: option(
    z.record(headerName, headerTemplate),
    'Headers for the upstream itself, on CONNECT and on plain requests; templates.',
  ),
  session_ttl: option(
    duration,
    'How long the provider keeps an address for one session; sessions end by then. Left out: 30m where the provider can be told, else what it does by itself.',
  ),
  max_ejected_ratio: setting(
    share,
    0.5,
    'At most this share of the routes is out at once, so that a list is never dead for ever.',
  ),
  plain: option(
    z.enum(['forward', 'tunnel']),
    'How plain http goes through it: by absolute-form, or through a tunnel; forward, unless the provider needs otherwise.',
  ),
  price_per_gb: option(
    decimal({ min: 0 }).nullable(),
    'Price of 10^9 bytes on the wire, for the spending figures.',
  ),
  exit_ip: option(exitIp.nullable(), 'How to learn the exit address; {header} or {url}.', {}),
});

export type UpstreamInput = z.output<typeof upstreamSchema>;
