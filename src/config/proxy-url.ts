import { isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';
import { escapeTemplate } from '../core/template.ts';
import type { Address, ProxyAddress } from './config.ts';
import { isRefused, type Refused, scalar } from './scalar.ts';
import { templateProblem } from './texts.ts';

/** HOST:PORT to listen on; port 0 takes a free one. */
export const listenAddress = scalar<Address>({
  expects: 'an address to listen on, such as 127.0.0.1:8888 or [::1]:8888',
  json: { type: 'string', pattern: '^(\\[[0-9a-fA-F:.]+\\]|[^:\\s/]+):\\d{1,5}$' },
  parse: addressOf,
});

/** The same for the admin server, which need not be there. */
export const adminAddress = scalar<Address | 'off'>({
  expects: 'an address to listen on, such as 127.0.0.1:8889 or [::1]:8889, or off',
  json: { type: 'string', pattern: '^((\\[[0-9a-fA-F:.]+\\]|[^:\\s/]+):\\d{1,5}|off)$' },
  parse: (value) => (value === 'off' ? 'off' : addressOf(value)),
});

function addressOf(value: unknown): Address | undefined {
  const [, bracketed, plain, digits] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s/[\]]+)):(\d{1,5})$/.exec(
      typeof value === 'string' ? value : '',
    ) ?? [];
  const port = Number(digits);
  if (!(port <= 65_535)) return undefined;
  if (bracketed !== undefined) return isIPv6(bracketed) ? { host: bracketed, port } : undefined;
  return { host: (plain ?? '').toLowerCase(), port };
}

/** A gateway's URL in its parts, all of them templates. */
export interface GatewayParts {
  readonly scheme: ProxyAddress['scheme'];
  readonly host: string;
  readonly port: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

const EXPECTS_PROXY = 'a proxy URL such as http://user:password@host:port, https://… or socks5://…';

/** One proxy with one address; user name and password are percent-decoded once. */
export const proxyUrl = scalar<ProxyAddress>({
  expects: EXPECTS_PROXY,
  json: { type: 'string' },
  secret: true,
  parse: (value) => {
    const cut = cutUrl(value, 'literal');
    if (cut === undefined || isRefused(cut)) return cut;
    const host = literalHost(cut.host);
    const port = Number(cut.port);
    if (host === undefined) return { refused: 'the host name of the URL is not valid' };
    if (!isPort(cut.port)) return { refused: 'the port of the URL is no number from 1 to 65535' };
    return { ...cut, host, port };
  },
});

/** A gateway with `{variables}` and `[optional groups]` in any part; percent-decoded outside of the braces. */
export const gatewayUrl = scalar<GatewayParts>({
  expects: EXPECTS_PROXY,
  json: { type: 'string' },
  secret: true,
  parse: (value) => {
    const cut = cutUrl(value, 'template');
    if (cut === undefined || isRefused(cut)) return cut;
    for (const [part, text] of Object.entries({
      'user name': cut.username,
      password: cut.password,
      host: cut.host,
      port: cut.port,
    })) {
      const problem = text === undefined ? undefined : templateProblem(text);
      if (problem !== undefined) return { refused: `the ${part} of the URL is ${problem}` };
    }
    return checkedGateway(cut);
  },
});

function checkedGateway(cut: GatewayParts): GatewayParts | Refused {
  const fixedHost = !cut.host.includes('{');
  const host = fixedHost ? literalHost(cut.host) : cut.host;
  if (host === undefined) return { refused: 'the host name of the URL is not valid' };
  if (!cut.port.includes('{') && !isPort(cut.port)) {
    return { refused: 'the port of the URL is no number from 1 to 65535' };
  }
  return { ...cut, host };
}

const SCHEMES: Readonly<Record<string, { scheme: ProxyAddress['scheme']; port: string }>> = {
  http: { scheme: 'http', port: '80' },
  https: { scheme: 'https', port: '443' },
  socks5: { scheme: 'socks5', port: '1080' },
  socks5h: { scheme: 'socks5', port: '1080' },
};

type Notation = 'literal' | 'template';

/** Cuts by hand, because a URL parser would encode the braces and lose what is inside. */
function cutUrl(value: unknown, notation: Notation): GatewayParts | Refused | undefined {
  if (typeof value !== 'string') return undefined;
  const [, name = '', rest = ''] = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/(.*)$/s.exec(value) ?? [];
  if (name === '') return undefined;
  const known = Object.hasOwn(SCHEMES, name.toLowerCase())
    ? SCHEMES[name.toLowerCase()]
    : undefined;
  if (!known) {
    return {
      refused:
        'the URL has a scheme that cannot be used; there are http, https, socks5 and socks5h',
    };
  }
  const masked = mask(rest, notation);
  const raw = rawCharacter(masked);
  if (raw !== undefined) return { refused: raw };
  const end = masked.endsWith('/') ? rest.length - 1 : rest.length;
  const at = masked.lastIndexOf('@');
  const credentials = at < 0 ? undefined : cutCredentials(rest.slice(0, at), masked, notation);
  if (credentials !== undefined && isRefused(credentials)) return credentials;
  const [host, port] = cutPort(rest.slice(at + 1, end), masked.slice(at + 1, end));
  if (host === '') return { refused: 'the URL names no host' };
  return {
    scheme: known.scheme,
    host,
    port: port ?? known.port,
    username: credentials?.username,
    password: credentials?.password,
  };
}

/** The same text with what stands in braces made inert: `:`, `@` and `/` in there separate nothing. */
function mask(text: string, notation: Notation): string {
  if (notation === 'literal') return text;
  return text.replaceAll(/\{[^{}]*\}/g, (inside) => `{${'x'.repeat(inside.length - 2)}}`);
}

const RAW: Readonly<Record<string, string>> = { '#': '%23', '?': '%3F', '/': '%2F' };

function rawCharacter(masked: string): string | undefined {
  if (/[\s\p{Cc}]/u.test(masked))
    return 'the URL holds a space or a control character; percent-encode it';
  const found = /[#?/]/.exec(masked.replace(/\/$/, ''))?.[0];
  if (found === undefined) return undefined;
  return `the URL holds a raw ${found}; a proxy URL has no path, and in a user name or password it is written ${RAW[found]}`;
}

function cutCredentials(
  text: string,
  masked: string,
  notation: Notation,
): { username: string; password: string | undefined } | Refused {
  const colon = masked.slice(0, text.length).indexOf(':');
  const username = decode(colon < 0 ? text : text.slice(0, colon), notation);
  const password = colon < 0 ? undefined : decode(text.slice(colon + 1), notation);
  if (username === undefined || (colon >= 0 && password === undefined)) {
    return {
      refused:
        'the user name or password of the URL holds a % that starts no valid escape; a % itself is written %25',
    };
  }
  // RFC 7617 §2: the first colon ends the user name, whatever was meant.
  if (mask(username, notation).includes(':')) {
    return {
      refused: 'the user name of the URL holds a colon, which Basic credentials cannot carry',
    };
  }
  return { username, password };
}

/** Percent-decoded once (a + is a +); in a template, decoded braces and brackets are characters, not syntax. */
function decode(text: string, notation: Notation): string | undefined {
  try {
    if (notation === 'literal') return decodeURIComponent(text);
    return text
      .split(/(\{[^{}]*\})/)
      .map((piece, i) => (i % 2 === 1 ? piece : decodePiece(piece)))
      .join('');
  } catch {
    return undefined;
  }
}

function decodePiece(piece: string): string {
  // Whole runs of escapes at once: one character may take several.
  return piece.replaceAll(/(?:%[^%]{0,2})+/g, (run) => {
    const [, escapes = '', rest = ''] = /^((?:%[0-9A-Fa-f]{2})+)(.*)$/s.exec(run) ?? [];
    if (escapes === '') return decodeURIComponent(run);
    return escapeTemplate(decodeURIComponent(escapes)) + decodeURIComponent(rest);
  });
}

function cutPort(text: string, masked: string): [string, string | undefined] {
  const colon = masked.lastIndexOf(':');
  const insideAddress = masked.startsWith('[') && masked.indexOf(']') > colon;
  if (colon < 0 || insideAddress) return [text, undefined];
  return [text.slice(0, colon), text.slice(colon + 1)];
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
}

function literalHost(text: string): string | undefined {
  const address = /^\[(.+)\]$/.exec(text)?.[1];
  if (address !== undefined) return isIPv6(address) ? address.toLowerCase() : undefined;
  const name = domainToASCII(text).toLowerCase();
  return name === '' || /[:[\]]/.test(name) ? undefined : name;
}
