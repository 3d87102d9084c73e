/** What one provider's gateway expects, as templates; variables are those of the upstream's configuration. */
export interface Preset {
  readonly provider: string;
  readonly scheme: 'http' | 'https' | 'socks5';
  readonly host: string;
  readonly port: string;
  readonly username?: string;
  readonly password?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** For sessions that end when their address goes, instead of being moved to another one. */
  readonly strictUsername?: string;
  /** Plain http targets: by absolute-form, or through a tunnel. */
  readonly plain: 'forward' | 'tunnel';
  /** Other names of the same gateway, for recognising a pasted URL. */
  readonly otherHosts: readonly string[];
  /** Variables that must be given. */
  readonly needs: readonly string[];
  /** The provider ends TLS itself: its CA must be trusted. */
  readonly opensTls: boolean;
  /** undefined: an account is one address, and there is nothing to choose. */
  readonly session: SessionSyntax | undefined;
}

/** How a session is asked for, for credentials that were pasted without one. */
export interface SessionSyntax {
  /** Where it goes. */
  readonly place: 'username' | 'password' | 'headers';
  /** Appended to the user name or password; empty for `headers`, where `Preset.headers` are sent. */
  readonly suffix: string;
  /** Regular expression source for a fixed session in pasted credentials; the suffix takes its place. */
  readonly fixed: string;
  readonly ttl: SessionTtl;
}

/** How long the provider keeps a session. */
export type SessionTtl =
  /** Told by the template's `{ttl}`, which is in seconds (`|minutes` converts). */
  | {
      readonly kind: 'told';
      readonly unit: 'seconds' | 'minutes';
      readonly defaultMs: number;
      readonly maxMs: number;
    }
  /** The provider's own, from the last use. */
  | { readonly kind: 'idle'; readonly idleMs: number }
  | { readonly kind: 'unknown' };

/** The parts of a gateway that session syntax may touch. */
export interface Credentials {
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Pasted credentials with the preset's session syntax put in, or undefined when there is none to put in.
 * A fixed session that was pasted along gives way: two in one user name would be an error there.
 */
export function withSessionSyntax(preset: Preset, given: Credentials): Credentials | undefined {
  const syntax = preset.session;
  if (!syntax) return undefined;
  const extend = (text: string) =>
    text.replaceAll(new RegExp(syntax.fixed, 'g'), '') + syntax.suffix;
  switch (syntax.place) {
    case 'username':
      return { ...given, username: extend(given.username ?? '') };
    case 'password':
      return { ...given, password: extend(given.password ?? '') };
    case 'headers':
      return { ...given, headers: { ...preset.headers, ...given.headers } };
  }
}
