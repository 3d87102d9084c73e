/** Connections of one kind, and how many of them met a block; both fade with time, so they are no whole numbers. */
export interface Tried {
  readonly attempts: number;
  readonly blocked: number;
}

/** What became of the TLS traffic of one lane. */
export interface TlsTally {
  /** Attempts for requests out of opened TLS. */
  readonly intercepted: Tried;
  /** Attempts to set a sealed tunnel up. */
  readonly tunnelled: Tried;
  /** Clients that broke TLS off on seeing our certificate. */
  readonly untrusted: number;
}

/** What to try: seal the host's TLS, open it, make a comparison possible, or install the CA. */
export interface InterceptionAdvice {
  readonly kind: 'seal' | 'open' | 'compare' | 'install_ca';
  readonly sentence: string;
}

/** Below that nothing is said of either kind. */
const FEWEST = 30;
/** One-sided, 1 %: who looks at a thousand lanes should not be told of chance in many. */
const LEAST_Z = 2.33;
/** What differs by less is not worth a change. */
const LEAST_DIFFERENCE = 0.05;
/** Blocks beyond this share ask for a comparison. */
const MUCH = 0.1;

/**
 * Advice about a host, from the share of blocks in both kinds of traffic (a test of two proportions with a pooled
 * variance). A sealed tunnel shows blocks only where they come before the first byte, so that the comparison favours
 * it: the sentence says so. undefined: nothing to say.
 */
export function interceptionAdvice(host: string, tally: TlsTally): InterceptionAdvice | undefined {
  const { intercepted, tunnelled, untrusted } = tally;
  if (untrusted >= 1 && intercepted.attempts < 1) {
    const sentence = `clients refuse our certificate for ${host}, and none has asked for anything in opened TLS: install the CA for them (forbear ca install-help), or leave the host sealed (intercept.except: [${host}])`;
    return { kind: 'install_ca', sentence };
  }
  const opened = `${percent(intercepted)} of ${times(intercepted)} attempts in opened TLS are blocked at ${host}`;
  if (tunnelled.attempts < FEWEST) {
    if (intercepted.attempts < FEWEST || shareOf(intercepted) < MUCH) return undefined;
    const sentence = `${opened}, and there is no sealed traffic to compare: leave the host sealed for a while (intercept.except: [${host}]) and look again`;
    return { kind: 'compare', sentence };
  }
  if (intercepted.attempts < FEWEST) return undefined;
  const difference = shareOf(intercepted) - shareOf(tunnelled);
  if (Math.abs(difference) < LEAST_DIFFERENCE || Math.abs(zOf(tally)) < LEAST_Z) return undefined;
  const sealed = `${percent(tunnelled)} of ${times(tunnelled)} sealed tunnels`;
  return difference > 0
    ? {
        kind: 'seal',
        sentence: `${opened}, and ${sealed}, as far as that shows from outside: try it sealed (intercept.except: [${host}]) and watch what the client gets`,
      }
    : {
        kind: 'open',
        sentence: `${opened}, but ${sealed}: opened TLS does better here`,
      };
}

const shareOf = ({ attempts, blocked }: Tried): number => (attempts === 0 ? 0 : blocked / attempts);

function zOf({ intercepted: a, tunnelled: b }: TlsTally): number {
  const pooled = (a.blocked + b.blocked) / (a.attempts + b.attempts);
  const variance = pooled * (1 - pooled) * (1 / a.attempts + 1 / b.attempts);
  return variance === 0 ? 0 : (shareOf(a) - shareOf(b)) / Math.sqrt(variance);
}

const percent = (tried: Tried): string => `${Math.round(100 * shareOf(tried))} %`;
const times = ({ attempts }: Tried): string => String(Math.round(attempts));
