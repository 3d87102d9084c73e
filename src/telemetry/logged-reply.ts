import { findMarker } from '../core/find-marker.ts';
import type { BodySight, FailureReply, ResponseReply, Verdict } from '../core/verdict.ts';
import { blankFields, blankUrl } from '../dead-letters/secrets.ts';
import type { ProxyEvent } from './events.ts';

/** A reply as the attempt log has it. */
export type LoggedReply =
  | FailureReply
  | (Omit<ResponseReply, 'body'> & { readonly body: LoggedBody });

/** A body of which no more is kept than the settings say. */
export type LoggedBody =
  | Exclude<BodySight, { kind: 'seen' }>
  | (Extract<BodySight, { kind: 'seen' }> & {
      /** How long the text was; present when this is only its beginning. */
      readonly chars?: number;
      /** The challenge, block or throttle page that the whole of it is; absent where nobody looked. */
      readonly marker?: { readonly id: string; readonly signs: readonly string[] } | null;
    });

/** No more of a body's text is kept. */
export interface BodyLimits {
  /** Of replies that were judged good. */
  readonly goodChars: number;
  /** Of all others. */
  readonly otherChars: number;
}

type Attempt = Extract<ProxyEvent, { type: 'attempt_finished' }>;

/** A field's value is cut there: what is judged stands well before. */
const LONGEST_VALUE = 1_024;

/** What is kept of a reply: credentials are blanked, and what is long is cut. */
export function loggedReply(event: Attempt, bodyChars: number): LoggedReply {
  const { reply } = event;
  if (reply.kind === 'failure') {
    const { upstreamReply } = reply;
    if (upstreamReply === undefined) return reply;
    const { status, rawHeaders, text } = upstreamReply;
    const kept = { status, rawHeaders: shownFields(rawHeaders), text: text.slice(0, bodyChars) };
    return { ...reply, upstreamReply: kept };
  }
  const { body, rawHeaders } = reply;
  return { ...reply, rawHeaders: shownFields(rawHeaders), body: shownBody(body, event, bodyChars) };
}

function shownFields(rawHeaders: readonly string[]): readonly string[] {
  return blankFields(rawHeaders).value.map((text, i) =>
    i % 2 === 0 || !text.includes('?')
      ? text.slice(0, LONGEST_VALUE)
      : blankUrl(text.slice(0, LONGEST_VALUE)).value,
  );
}

function shownBody(body: BodySight, event: Attempt, bodyChars: number): LoggedBody {
  if (body.kind !== 'seen') return body;
  const marker = judgedMarker(event);
  if (body.text.length <= bodyChars) return marker === undefined ? body : { ...body, marker };
  return {
    ...body,
    text: body.text.slice(0, bodyChars),
    chars: body.text.length,
    marker: marker === undefined ? soughtMarker(event) : marker,
  };
}

type NamedMarker = { readonly id: string; readonly signs: readonly string[] };

/** What the judgement found of known pages; undefined where it had no need to look. */
function judgedMarker({ verdict, exchange }: Attempt): NamedMarker | null | undefined {
  const { evidence } = verdict;
  if (evidence.kind === 'marker' && evidence.marker !== 'throttle-text') {
    return { id: evidence.marker, signs: evidence.signs };
  }
  const { markers } = exchange.policy.softBlocks;
  return markers === 'enforce' && !SPOKE_FIRST.has(evidence.kind) ? null : undefined;
}

/** Looked for while all of it is at hand. */
function soughtMarker({ reply, exchange }: Attempt): NamedMarker | null {
  if (reply.kind !== 'response') return null;
  const { markers } = exchange.policy;
  const found = findMarker(reply, { path: exchange.target.path, markers });
  return found === undefined ? null : { id: found.marker.id, signs: found.signs };
}

/** Evidence that is asked before the markers. */
const SPOKE_FIRST: ReadonlySet<Verdict['evidence']['kind']> = new Set(['rule', 'upstream']);
