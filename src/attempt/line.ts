import type { Readable } from 'node:stream';
import type { Clock } from '../clock.ts';
import type { Exchange, Route } from '../exchange/ports.ts';
import type { Connection, Connections } from './connections.ts';
import { h2RequestFields } from './h2-fields.ts';
import { sendOnStream } from './h2-send.ts';
import type { H2Session, Slot } from './h2-session.ts';
import type { Meter } from './meter.ts';
import { type Plan, requestOf } from './request.ts';
import { type ReplyTerms, type Sent, send } from './send.ts';

/** What one request is sent over: a connection of its own, or a stream among others. */
export interface Line {
  /** Whether it was used before, so that it may have died unnoticed. */
  readonly reused: boolean;
  /** Sends the request. Called once. */
  send(): Promise<Sent>;
  /** Whether any of the request went out. */
  readonly written: boolean;
  /** Whether anything has come back since. */
  readonly heard: boolean;
}

/** The request that is to be sent, and what that takes. */
export interface LineJob {
  readonly clock: Clock;
  readonly exchange: Exchange;
  readonly route: Route;
  readonly plan: Plan;
  readonly meter: Meter;
  readonly replyTerms: ReplyTerms;
}

/** A line over HTTP/1.1, which goes back to the others when the reply has ended. */
export function connectionLine(connection: Connection, connections: Connections, t: LineJob): Line {
  const reused = connection.uses > 0;
  return {
    reused,
    async send() {
      const { exchange, route, plan, clock } = t;
      if (reused) t.meter.add(connection.raw);
      exchange.stage = { kind: 'awaiting_reply', sinceAt: clock.now(), untilAt: undefined };
      try {
        const { options, head, body } = requestOf(exchange, route, plan);
        connection.wire.begin(head, exchange.policy.lenient);
        const onFree = () => connections.giveBack(connection, clock.now());
        const { memory } = t.replyTerms;
        return await send({ clock, connection, exchange, options, body, memory, onFree });
      } catch (error) {
        connection.destroy();
        return { kind: 'failed', phase: 'send', error: error as Error };
      }
    },
    get written() {
      return connection.wire.written;
    },
    get heard() {
      return connection.wire.replyBytes > 0;
    },
  };
}

/** A line over HTTP/2. */
export function streamLine(session: H2Session, t: LineJob): Line {
  const reused = session.uses > 0;
  const heardBytes = session.heardBytes;
  let slot: Slot | undefined;
  session.reserve();
  return {
    reused,
    async send() {
      const { exchange, route, plan, clock, replyTerms } = t;
      exchange.stage = { kind: 'awaiting_reply', sinceAt: clock.now(), untilAt: undefined };
      let body: Readable | undefined;
      try {
        const request = requestOf(exchange, route, plan);
        body = request.body;
        const { method, target } = exchange;
        const { path, authority } = target;
        const { length } = exchange.body;
        const fields = h2RequestFields({
          method,
          path,
          authority,
          fields: request.head.fields,
          length,
        });
        slot = session.open(fields, formOf(exchange));
        // The dial is over, and the socket is shared from here on: each bears its own part of it.
        t.meter.stop();
        t.meter.add(session.share(slot));
        return await sendOnStream({ clock, session, slot, exchange, body, replyTerms });
      } catch (error) {
        body?.destroy();
        if (slot === undefined) session.giveBack();
        return { kind: 'failed', phase: 'send', error: error as Error };
      }
    },
    get written() {
      return slot?.facts.asked ?? false;
    },
    get heard() {
      return session.heardBytes > heardBytes;
    },
  };
}

/** Whether trailers may follow: only behind a body whose end was not told, or that came over HTTP/2 itself. */
function formOf({ body, overH2 }: Exchange): 'none' | 'sized' | 'trailed' {
  if (!body.present) return 'none';
  return body.length === undefined || overH2 === true ? 'trailed' : 'sized';
}
