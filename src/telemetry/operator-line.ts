import type { ProxyEvent } from './events.ts';
import type { LogLine } from './log-lines.ts';

/** What the operator did, in a line. */
export function operatorLine(
  event: Extract<ProxyEvent, { type: 'lane_isolated' | 'route_restored' }>,
): LogLine {
  if (event.type === 'route_restored') {
    const { label } = event.route;
    return {
      level: 'info',
      message: `${label} is taken back in`,
      fields: { forbear: { route: label } },
    };
  }
  const { lane, isolated } = event;
  return {
    level: 'warn',
    message: isolated
      ? `${lane} is isolated: nothing is sent there until it is resumed`
      : `${lane} is resumed`,
    fields: { forbear: { lane, isolated } },
  };
}
