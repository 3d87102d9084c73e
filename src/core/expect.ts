import type { Judge } from './classify.ts';
import { fieldValue } from './fields.ts';
import { globMatches } from './glob.ts';
import { pointerExists } from './json-pointer.ts';
import { mediaType, mediaTypeMatches } from './media-type.ts';
import type { ExpectRule } from './policy.ts';
import { sameMethod } from './rules.ts';
import type { BodySight, ResponseReply } from './verdict.ts';

type Seen = Extract<BodySight, { kind: 'seen' }>;

/** The first thing a reply should show and does not. */
export interface Unmet {
  readonly otherwise: ExpectRule['otherwise'];
  readonly missing: string;
}

const MAX_QUOTED = 60;

/**
 * Checks the user's expectations: all rules that apply must hold, and the client's own text.
 * What cannot be seen is not judged: text missing from the inspected part of a longer body may stand in the rest.
 */
export function unmetExpectation(reply: ResponseReply, judge: Judge): Unmet | undefined {
  if (reply.body.kind === 'none') return undefined;
  for (const rule of judge.policy.expect) {
    const missing = applies(rule, reply, judge) ? missingFor(rule, reply, judge) : undefined;
    if (missing !== undefined) {
      return { otherwise: rule.otherwise, missing: `${missing}, ${rule.label}` };
    }
  }
  const wanted = judge.expectText;
  if (wanted === undefined || !isPlainSuccess(reply.status)) return undefined;
  const missing = lacksText(wanted, reply.body, judge);
  return missing === undefined ? undefined : { otherwise: 'transient', missing };
}

function applies({ when }: ExpectRule, { status }: ResponseReply, judge: Judge): boolean {
  const { statuses, path, method } = when;
  if (statuses ? !statuses.includes(status) : !isPlainSuccess(status)) return false;
  if (path !== undefined && !globMatches(path, judge.request.path)) return false;
  return method === undefined || sameMethod(method, judge);
}

/** A 204 has no body and a 206 only a part of one. */
function isPlainSuccess(status: number): boolean {
  return status >= 200 && status < 300 && status !== 204 && status !== 206;
}

function missingFor(rule: ExpectRule, reply: ResponseReply, judge: Judge): string | undefined {
  const type = fieldValue(reply.rawHeaders, 'content-type');
  const { contentType } = rule;
  if (contentType !== undefined) {
    const fits = mediaType(type) !== undefined && mediaTypeMatches([contentType], type);
    if (!fits) return `content_type ${contentType}`;
  }
  const { body } = reply;
  if (body.kind !== 'seen') return undefined;
  return (
    tooSmall(rule.minBytes, body, judge) ??
    lacksText(rule.bodyContains, body, judge) ??
    lacksMatch(rule.bodyMatches, body, judge) ??
    lacksJson(rule.json, body, judge) ??
    lacksElements(rule.css, body, judge)
  );
}

function tooSmall(minBytes: number | undefined, body: Seen, judge: Judge): string | undefined {
  if (minBytes === undefined || !isWhole(body, judge)) return undefined;
  const bytes = Math.max(body.receivedBytes, utf8Bytes(body.text));
  return bytes < minBytes ? `min_bytes ${minBytes}` : undefined;
}

function lacksText(wanted: string | undefined, body: BodySight, judge: Judge): string | undefined {
  if (wanted === undefined || body.kind !== 'seen' || body.text.includes(wanted)) return undefined;
  return isWhole(body, judge) ? `body_contains ${quoted(wanted)}` : undefined;
}

function lacksMatch(pattern: string | undefined, body: Seen, judge: Judge): string | undefined {
  if (pattern === undefined || judge.tools.matches(pattern, body.text)) return undefined;
  return isWhole(body, judge) ? `body_matches ${quoted(pattern)}` : undefined;
}

function lacksJson(pointer: string | undefined, body: Seen, judge: Judge): string | undefined {
  if (pointer === undefined) return undefined;
  const missing = `json ${quoted(pointer)}`;
  const text = body.text.trim();
  // Of a part nobody can say where it leads, but a page in place of data shows at once.
  if (!isWhole(body, judge)) return text === '' || JSON_START.test(text) ? undefined : missing;
  return pointerExists(text, pointer) ? undefined : missing;
}

function lacksElements(css: ExpectRule['css'], body: Seen, judge: Judge): string | undefined {
  if (css === undefined || judge.tools.countCss(body.text, css.selector) >= css.min)
    return undefined;
  return isWhole(body, judge) ? `css ${quoted(css.selector)} × ${css.min}` : undefined;
}

/** Whether the text is all of the body: nothing to come, nothing cut off by `inspect.bytes`, and really decoded. */
function isWhole(body: Seen, { policy }: Judge): boolean {
  if (body.end !== 'complete') return false;
  if (body.coding !== 'ok') return isEmpty(body);
  return body.text.length < policy.inspect.bytes && utf8Bytes(body.text) < policy.inspect.bytes;
}

/** Whether a body was to come and none did. */
export function isEmpty(body: BodySight): boolean {
  return body.kind === 'seen' && body.end === 'complete' && body.receivedBytes === 0;
}

function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) continue;
    // Each half of a surrogate pair stands for two of the four bytes.
    bytes += code < 0x800 || (code >= 0xd800 && code < 0xe000) ? 1 : 2;
  }
  return bytes;
}

const JSON_START = /^[[{"\-\dtfn]/;

const quoted = (text: string): string =>
  `"${text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text}"`;
