import { isIP, type Socket } from 'node:net';
import {
  connect,
  createSecureContext,
  getCACertificates,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import { LRUCache } from 'lru-cache';
import type { TlsConfig } from '../config/config.ts';
import { hostGlobMatches } from '../core/glob.ts';
import { CodedError } from './failure.ts';
import type { Protocol } from './h2-offers.ts';
import { type Limits, type Outcome, step } from './step.ts';

/** Puts TLS over a socket, and verifies who is at the other end. The socket is destroyed if it fails. */
export type Secure = (
  raw: Socket,
  o: {
    readonly host: string;
    /** Sessions are resumed within one scope only: tickets must not link two addresses to each other. */
    readonly scope: string;
    /** The best protocol to offer; one that is not h2 is always offered. */
    readonly offer: Protocol;
  },
  limits: Limits,
) => Promise<Outcome<TLSSocket>>;

const KEPT_SESSIONS = 512;

/** Reads the trusted roots once: those of the system, those that come with Node, and the configured ones. */
export function createSecure(config: TlsConfig): Secure {
  const ca = trustedRoots(config);
  const plain = createSecureContext({ ca });
  const certified = config.clientCerts.map(({ host, cert, key }) => ({
    host,
    context: createSecureContext({ ca, cert, key }),
  }));
  const sessions = new LRUCache<string, Buffer>({ max: KEPT_SESSIONS });
  const contextFor = (host: string): SecureContext =>
    certified.find((entry) => hostGlobMatches(entry.host, host))?.context ?? plain;

  return (raw, { host, scope, offer }, limits) =>
    step<TLSSocket>(limits, ({ done, fail }) => {
      const key = `${scope} ${host}`;
      const known = sessions.get(key);
      const socket = connect({
        socket: raw,
        secureContext: contextFor(host),
        rejectUnauthorized: !config.insecureHosts.some((glob) => hostGlobMatches(glob, host)),
        ALPNProtocols: offer === 'h2' ? ['h2', 'http/1.1'] : ['http/1.1'],
        // The name is checked against `host`; the SNI extension allows no IP addresses (RFC 6066 section 3).
        host,
        ...(isIP(host) === 0 ? { servername: host } : {}),
        ...(known === undefined ? {} : { session: known }),
      });
      let secured = false;
      const onSecure = () => {
        secured = true;
        done(socket);
      };
      // Node reports a clean end in the handshake as ECONNRESET; ours has to come first.
      const onEnd = () => fail(new CodedError('FORBEAR_CLOSED', 'closed during the TLS handshake'));
      socket.on('error', () => {}).on('session', (session) => sessions.set(key, session));
      socket.once('secureConnect', onSecure).once('error', fail);
      socket.prependOnceListener('end', onEnd).once('close', onEnd);
      return () => {
        socket.off('secureConnect', onSecure).off('error', fail).off('end', onEnd);
        socket.off('close', onEnd);
        if (!secured) {
          sessions.delete(key);
          socket.destroy();
          raw.destroy();
        }
      };
    });
}

function trustedRoots(config: TlsConfig): string[] {
  const roots = [...getCACertificates('default'), ...getCACertificates('system')];
  return [...new Set([...roots, ...config.extraCa])];
}
