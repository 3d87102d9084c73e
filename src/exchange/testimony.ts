import type { Verdict } from '../core/verdict.ts';

/** Whether both the way and the site did their part. */
export function isGood(verdict: Verdict): boolean {
  switch (verdict.fault) {
    case 'none':
    case 'client':
      return true;
    case 'host':
      return verdict.kind === 'rate';
    case 'route':
      return verdict.reason === 'blocked' || verdict.reason === 'challenged';
    case 'account':
    case 'self':
      return false;
  }
}

const BAD: readonly Verdict['reason'][] = [
  'slow',
  'slow_route',
  'reset',
  'truncated',
  'unreachable',
];
/** Whether something between here and the page did not do its part. */
export const isBad = ({ reason }: Verdict): boolean => BAD.includes(reason);
