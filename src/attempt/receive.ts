import type { Clock } from '../clock.ts';
import type { Exchange, Received } from '../exchange/ports.ts';
import { broken, isMalformed } from './failure.ts';
import type { Line } from './line.ts';
import type { Meter } from './meter.ts';
import { peek } from './peek.ts';
import { failedAttempt, LiveReceived } from './received.ts';
import type { Plan } from './request.ts';
import type { Sent } from './send.ts';

/** Makes what a request brought into an attempt's result, with its body looked at. */
export async function receive(
  sent: Sent,
  t: {
    readonly clock: Clock;
    readonly exchange: Exchange;
    readonly line: Pick<Line, 'written'>;
    readonly via: Plan['via'];
    readonly meter: Meter;
    readonly startedAt: number;
  },
): Promise<Received> {
  const { exchange, via, meter, clock } = t;
  if (sent.kind === 'failed') {
    const failure = broken(sent.error, sent.phase, via === 'forward' ? 'upstream' : 'origin');
    return failedAttempt(failure, { via, sent: t.line.written, meter });
  }
  const { status, reason, rawHeaders, incoming } = sent;
  const now = clock.now();
  void incoming.closed.then(() => meter.stop());
  exchange.stage = { kind: 'receiving', sinceAt: now, untilAt: undefined };
  const body = await peek(incoming, sent, exchange);
  // A body whose framing is none will be no better next time, unlike one that was cut short.
  if (isMalformed(incoming.error)) {
    incoming.discard();
    const end = broken(incoming.error, 'body', 'origin');
    return failedAttempt(end, { via, sent: true, meter });
  }
  const { readable, rawTrailers } = incoming;
  return new LiveReceived({
    reply: { kind: 'response', via, status, rawHeaders, body, headMs: now - t.startedAt },
    response: { status, reason, rawHeaders, body: readable, rawTrailers },
    incoming,
    meter,
  });
}
