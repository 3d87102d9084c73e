import { createHash, timingSafeEqual } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { fieldValue, type RawHeaders } from '../core/fields.ts';
import { type Directives, readUsername } from '../exchange/directives.ts';
import type { Client } from '../exchange/ports.ts';

/** Who is asking, and what the proxy username says besides. */
export type Identity =
  | { readonly kind: 'known'; readonly client: Client; readonly directives: Directives }
  | { readonly kind: 'challenge'; readonly detail: string }
  | { readonly kind: 'bad'; readonly detail: string };

/**
 * Reads `Proxy-Authorization`. Without configured clients any credentials will do, and none will unless
 * `auth` is `required`; with configured clients nobody else is let in.
 */
export function identify(
  raw: RawHeaders,
  address: string,
  config: Pick<Config, 'clients' | 'auth'>,
): Identity {
  const given = credentials(fieldValue(raw, 'proxy-authorization'));
  if (given === undefined) {
    if (config.auth === 'required' || config.clients.length > 0) {
      return { kind: 'challenge', detail: 'This proxy asks for a name and a password.' };
    }
    return { kind: 'known', client: { name: address, address }, directives: {} };
  }
  const isClient = (name: string) => config.clients.some((client) => client.name === name);
  const username = readUsername(given.username, isClient);
  if (username.kind === 'bad') return username;
  const { name, directives } = username.value;
  if (config.clients.length > 0 && !passwordFits(config, name, given.password)) {
    return { kind: 'challenge', detail: 'This proxy does not know that name and password.' };
  }
  return { kind: 'known', client: { name: name === '' ? address : name, address }, directives };
}

function credentials(
  value: string | undefined,
): { readonly username: string; readonly password: string } | undefined {
  const encoded = /^basic +([A-Za-z0-9+/=_-]+)$/i.exec(value ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon === -1) return { username: text, password: '' };
  return { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Compares with every client whatever the outcome, so that the time taken tells nothing. */
function passwordFits(config: Pick<Config, 'clients'>, name: string, password: string): boolean {
  const given = digest(`${name}\0${password}`);
  let fits = false;
  for (const client of config.clients) {
    if (timingSafeEqual(given, digest(`${client.name}\0${client.password}`))) fits = true;
  }
  return fits;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
