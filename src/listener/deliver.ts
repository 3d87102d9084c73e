import type { Readable } from 'node:stream';
import type { Clock } from '../clock.ts';
import { type Conclusion, conclude } from '../core/conclude.ts';
import type { Policy } from '../core/policy.ts';
import { keep, replyHeaders } from '../exchange/headers.ts';
import type { Delivery, Exchange, Response } from '../exchange/ports.ts';
import { isSendable, type Outlet, sendable } from './outlet.ts';
import { proxyStatus, type Refusal, rendered, retryAfter, type Told } from './problem.ts';

/** What the client got: a status, or how its connection ended. */
export type Answered = number | 'client_gone' | 'broken_off';

/** The client's end of one exchange. */
export interface Recipient {
  readonly outlet: Outlet;
  readonly clock: Pick<Clock, 'after'>;
  /** A client that takes nothing for so long is gone. */
  readonly stallMs: number;
  /** The session id as the client wrote it. */
  readonly sessionId: string | undefined;
  readonly sessionState: 'active' | 'burned' | 'expired' | undefined;
  /** Called just before the head goes out. */
  readonly onHead: () => void;
  /** Settles when the rest of an upload that nobody wants has been let go; before the last byte of the reply. */
  readonly beforeEnd: () => Promise<void>;
}

/** A client may well be slower than a site: it gets this many idle spans to take a byte. */
const STALLED_SPANS = 4;

/** How long a client may take nothing of its reply. */
export const stallMsUnder = ({ timeouts }: Policy): number => timeouts.idleMs * STALLED_SPANS;

/** Gives the client its one answer: the origin's reply as it came, or one of our own. */
export async function deliver(
  delivery: Delivery,
  exchange: Exchange,
  recipient: Recipient,
): Promise<Answered> {
  const { received } = delivery;
  const conclusion = conclusionOf(delivery);
  const response = received?.response;
  if (conclusion.kind === 'pass' && response !== undefined) {
    return pass(response, { delivery, exchange, recipient, conclusion });
  }
  received?.discard();
  const notes = annotations(delivery, exchange, recipient);
  const { deadLetter } = delivery;
  const told = {
    attempts: delivery.ledger.attempts,
    exchange: exchange.id,
    ...(deadLetter === undefined ? {} : { dead_letter: deadLetter }),
  };
  return refuse(recipient, { ...refusalFrom(conclusion), headers: notes }, told);
}

/** What an exchange comes to when there is no HTTP reply to pass on. */
export function conclusionOf(delivery: Delivery): Conclusion {
  const { verdict, stop, received, retryAfterMs, fuseStatus, accountsOut } = delivery;
  return conclude({
    verdict,
    stop,
    reply: received?.reply,
    deliverable: received?.deliverable ?? false,
    retryAfterMs,
    fuseStatus,
    accountsOut,
  });
}

/** The same as a reply of our own. */
export function refusalFrom(conclusion: Conclusion): Refusal {
  if (conclusion.kind === 'own') return conclusion;
  const detail = conclusion.detail ?? 'The reply could not be passed on.';
  return { status: 502, reason: 'internal', token: conclusion.token, detail };
}

/** Sends a reply of our own. */
export async function refuse(
  recipient: Recipient,
  refusal: Refusal,
  told: Told | undefined,
): Promise<Answered> {
  const { outlet } = recipient;
  const { headers, body } = rendered(refusal, told);
  if (refusal.closes === true) outlet.closeAfter();
  recipient.onHead();
  outlet.head(refusal.status, undefined, headers);
  if (!outlet.isHead) outlet.write(body);
  await recipient.beforeEnd();
  outlet.end([]);
  return (await taken('finish', recipient)) ? refusal.status : 'client_gone';
}

interface Passing {
  readonly delivery: Delivery;
  readonly exchange: Exchange;
  readonly recipient: Recipient;
  readonly conclusion: Extract<Conclusion, { kind: 'pass' }>;
}

async function pass(reply: Response, passing: Passing): Promise<Answered> {
  const { recipient, exchange } = passing;
  const { outlet } = recipient;
  const { status } = reply;
  writeHead(outlet, reply, passedHeaders(reply, passing), recipient.onHead);
  const hasBody = exchange.method !== 'HEAD' && status !== 204 && status !== 304;
  const end = hasBody ? await pour(reply.body, exchange, recipient) : letGo(reply.body);
  if (end === 'gone') return 'client_gone';
  if (end === 'cut') {
    outlet.cutOff();
    return 'broken_off';
  }
  await recipient.beforeEnd();
  outlet.end(reply.rawTrailers);
  return (await taken('finish', recipient)) ? status : 'client_gone';
}

function passedHeaders(reply: Response, passing: Passing): string[] {
  const { delivery, exchange, recipient, conclusion } = passing;
  const { annotate } = exchange.policy;
  const kept = replyHeaders(reply.rawHeaders, reply.status);
  // Another Forbear further on tells its own story; the client is to read ours.
  const headers = annotate ? keep(kept, (name) => !name.startsWith('forbear-')) : kept;
  if (conclusion.addRetryAfterMs !== undefined) {
    headers.push('Retry-After', retryAfter(conclusion.addRetryAfterMs));
  }
  headers.push(...annotations(delivery, exchange, recipient));
  if (conclusion.token !== undefined) {
    const { token, detail } = conclusion;
    headers.push('Proxy-Status', proxyStatus({ token, receivedStatus: reply.status, detail }));
  }
  return headers;
}

function annotations(delivery: Delivery, exchange: Exchange, recipient: Recipient): string[] {
  if (!exchange.policy.annotate) return [];
  const { ledger, verdict, route, stop, deadLetter, source } = delivery;
  const notes = ['Forbear-Attempts', String(ledger.attempts)];
  if (verdict !== undefined) notes.push('Forbear-Verdict', `${verdict.fault}/${verdict.reason}`);
  notes.push('Forbear-Waited-Ms', String(Math.round(ledger.waitedMs)));
  if (route !== undefined) notes.push('Forbear-Route', route.label);
  const { sessionId, sessionState } = recipient;
  if (sessionId !== undefined && sessionState !== undefined) {
    notes.push('Forbear-Session', `${sessionId}; state=${sessionState}`);
  }
  if (stop !== undefined) notes.push('Forbear-Stop', stop);
  if (deadLetter !== undefined) notes.push('Forbear-Dead-Letter', deadLetter);
  if (source !== undefined) notes.push('Forbear-Source', source);
  notes.push('Forbear-Exchange', exchange.id);
  return notes;
}

/** Byte for byte as it came, but for what cannot be written. */
function writeHead(
  outlet: Outlet,
  reply: Response,
  headers: readonly string[],
  onHead: () => void,
): void {
  const isFramed =
    outlet.isHead ||
    reply.status === 204 ||
    reply.status === 304 ||
    headers.some((text, i) => i % 2 === 0 && text.toLowerCase() === 'content-length');
  const announces = outlet.takesTrailers(isFramed ? 'known' : 'unknown');
  const fields = sendable(headers);
  onHead();
  outlet.head(
    reply.status,
    isSendable(reply.reason) ? reply.reason : undefined,
    announces ? fields : keep(fields, (name) => name !== 'trailer'),
  );
}

/** Moves the body on at the client's pace. `cut`: it ended early; `gone`: the client did. */
async function pour(
  body: Readable,
  exchange: Exchange,
  recipient: Recipient,
): Promise<'whole' | 'cut' | 'gone'> {
  const { outlet } = recipient;
  const leave = () => body.destroy();
  exchange.signal.addEventListener('abort', leave, { once: true });
  // A head whose body does not follow at once goes alone: event streams begin with silence.
  const flush = setImmediate(() => outlet.flush());
  try {
    for await (const chunk of body) {
      clearImmediate(flush);
      if (!outlet.write(chunk) && !(await taken('drain', recipient))) return 'gone';
    }
    return exchange.signal.aborted ? 'gone' : 'whole';
  } catch {
    return exchange.signal.aborted ? 'gone' : 'cut';
  } finally {
    clearImmediate(flush);
    exchange.signal.removeEventListener('abort', leave);
  }
}

/** There is no body by protocol (RFC 9112 section 6.3); stray bytes are the wire's trouble, not the reply's. */
function letGo(body: Readable): 'whole' {
  body.on('error', () => {});
  body.resume();
  return 'whole';
}

/** Waits for the client to take what was written. False when it has left, or is cut off for taking nothing. */
function taken(event: 'drain' | 'finish', recipient: Recipient): Promise<boolean> {
  const { outlet, clock, stallMs } = recipient;
  if (outlet.finished) return Promise.resolve(true);
  if (outlet.gone) return Promise.resolve(false);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const settle = () => {
    cancel();
    outlet.off(event, settle);
    outlet.off('close', settle);
    resolve(!outlet.gone || outlet.finished);
  };
  const onStall = () => {
    if (outlet.waits) cancel = clock.after(stallMs, onStall);
    else outlet.drop();
  };
  let cancel = clock.after(stallMs, onStall);
  outlet.on(event, settle);
  outlet.on('close', settle);
  return promise;
}
