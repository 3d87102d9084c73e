import type { Judge } from './classify.ts';
import { fieldValue } from './fields.ts';
import { pointedAt } from './json-pointer.ts';
import { mediaType, mediaTypeMatches } from './media-type.ts';
import type { ExpectCheck, JsonCheck } from './policy.ts';
import type { BodySight, ResponseReply } from './verdict.ts';

type Seen = Extract<BodySight, { kind: 'seen' }>;

/** `unseen`: neither shown nor missing, for the part that would tell was not looked at. */
export type Outcome =
  | { readonly kind: 'met' }
  | { readonly kind: 'unseen' }
  | { readonly kind: 'unmet'; readonly missing: string };

const MET: Outcome = { kind: 'met' };
const UNSEEN: Outcome = { kind: 'unseen' };
const unmet = (missing: string): Outcome => ({ kind: 'unmet', missing });
const MAX_QUOTED = 60;
const MAX_MISSING = 300;

/** Checks one thing a good reply shows; all keys given must hold. The first that does not is told. */
export function checkReply(check: ExpectCheck, reply: ResponseReply, judge: Judge): Outcome {
  return allOf(outcomes(check, reply, judge));
}

/** Each is found out only when it is asked for: the costly ones come last. */
function* outcomes(
  check: ExpectCheck,
  reply: ResponseReply,
  judge: Judge,
): Generator<Outcome, void, void> {
  const { body } = reply;
  if (check.contentType !== undefined) yield ofType(check.contentType, reply);
  if (check.minBytes !== undefined) yield largeEnough(check.minBytes, body, judge);
  if (check.bodyContains !== undefined) yield hasText(check.bodyContains, body, judge);
  if (check.bodyMatches !== undefined) yield hasMatch(check.bodyMatches, body, judge);
  if (check.json !== undefined) yield hasJson(check.json, body, judge);
  if (check.css !== undefined) yield hasElements(check.css, body, judge);
  for (const one of check.all ?? []) yield checkReply(one, reply, judge);
  if (check.any !== undefined) yield anyOf(check.any, reply, judge);
  if (check.not !== undefined) yield noneOf(check.not, reply, judge);
}

function allOf(parts: Iterable<Outcome>): Outcome {
  let kind: Outcome = MET;
  for (const part of parts) {
    if (part.kind === 'unmet') return part;
    if (part.kind === 'unseen') kind = UNSEEN;
  }
  return kind;
}

function anyOf(checks: readonly ExpectCheck[], reply: ResponseReply, judge: Judge): Outcome {
  const missing: string[] = [];
  let unseen = false;
  for (const check of checks) {
    const outcome = checkReply(check, reply, judge);
    if (outcome.kind === 'met') return MET;
    if (outcome.kind === 'unseen') unseen = true;
    else missing.push(outcome.missing);
  }
  return unseen ? UNSEEN : unmet(`any of (${missing.join(' | ')})`.slice(0, MAX_MISSING));
}

function noneOf(check: ExpectCheck, reply: ResponseReply, judge: Judge): Outcome {
  const { kind } = checkReply(check, reply, judge);
  if (kind === 'unseen') return UNSEEN;
  return kind === 'unmet' ? MET : unmet(`not (${described(check)})`.slice(0, MAX_MISSING));
}

function ofType(wanted: string, { rawHeaders }: ResponseReply): Outcome {
  const type = fieldValue(rawHeaders, 'content-type');
  const fits = mediaType(type) !== undefined && mediaTypeMatches([wanted], type);
  return fits ? MET : unmet(`content_type ${wanted}`);
}

function largeEnough(minBytes: number, body: BodySight, judge: Judge): Outcome {
  if (body.kind !== 'seen') return UNSEEN;
  const bytes = Math.max(body.receivedBytes, utf8Bytes(body.text));
  if (bytes >= minBytes) return MET;
  return isWhole(body, judge) ? unmet(`min_bytes ${minBytes}`) : UNSEEN;
}

function hasText(wanted: string, body: BodySight, judge: Judge): Outcome {
  if (body.kind !== 'seen') return UNSEEN;
  if (body.text.includes(wanted)) return MET;
  return isWhole(body, judge) ? unmet(`body_contains ${quoted(wanted)}`) : UNSEEN;
}

function hasMatch(pattern: string, body: BodySight, judge: Judge): Outcome {
  if (body.kind !== 'seen') return UNSEEN;
  if (judge.tools.matches(pattern, body.text)) return MET;
  return isWhole(body, judge) ? unmet(`body_matches ${quoted(pattern)}`) : UNSEEN;
}

function hasJson(wanted: string | JsonCheck, body: BodySight, judge: Judge): Outcome {
  if (body.kind !== 'seen') return UNSEEN;
  const check = typeof wanted === 'string' ? { pointer: wanted } : wanted;
  const missing = unmet(jsonWords(check));
  const text = body.text.trim();
  // Of a part nobody can say where it leads, but a page in place of data shows at once.
  if (!isWhole(body, judge)) return text === '' || JSON_START.test(text) ? UNSEEN : missing;
  const found = pointedAt(text, check.pointer);
  if (found.kind === 'no_json') return missing;
  if (check.exists === false) return found.kind === 'nothing' ? MET : missing;
  return found.kind === 'found' && holdsThere(check, found.value) ? MET : missing;
}

function holdsThere({ equals, minItems }: JsonCheck, value: unknown): boolean {
  if (equals !== undefined && value !== equals) return false;
  return minItems === undefined || entriesOf(value) >= minItems;
}

function entriesOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return typeof value === 'object' && value !== null ? Object.keys(value).length : -1;
}

function hasElements(css: NonNullable<ExpectCheck['css']>, body: BodySight, judge: Judge): Outcome {
  if (body.kind !== 'seen') return UNSEEN;
  if (judge.tools.countCss(body.text, css.selector) >= css.min) return MET;
  return isWhole(body, judge) ? unmet(`css ${quoted(css.selector)} × ${css.min}`) : UNSEEN;
}

/** A check in words, for when it holds and should not. */
function described(check: ExpectCheck): string {
  const { contentType, minBytes, bodyContains, bodyMatches, json, css, all, any, not } = check;
  const parts = [
    contentType && `content_type ${contentType}`,
    minBytes && `min_bytes ${minBytes}`,
    bodyContains && `body_contains ${quoted(bodyContains)}`,
    bodyMatches && `body_matches ${quoted(bodyMatches)}`,
    json && jsonWords(typeof json === 'string' ? { pointer: json } : json),
    css && `css ${quoted(css.selector)} × ${css.min}`,
    all && `all of (${all.map(described).join(', ')})`,
    any && `any of (${any.map(described).join(' | ')})`,
    not && `not (${described(not)})`,
  ];
  return parts.filter(Boolean).join(', ');
}

function jsonWords({ pointer, equals, minItems, exists }: JsonCheck): string {
  return [
    `json ${quoted(pointer)}`,
    ...(equals === undefined ? [] : [`equals ${quoted(JSON.stringify(equals))}`]),
    ...(minItems === undefined ? [] : [`min_items ${minItems}`]),
    ...(exists === false ? ['absent'] : []),
  ].join(' ');
}

/** Whether the text is all of the body: nothing to come, nothing cut off by `inspect.bytes`, and really decoded. */
function isWhole(body: Seen, { policy }: Judge): boolean {
  if (body.end !== 'complete') return false;
  if (body.coding !== 'ok') return body.receivedBytes === 0;
  return body.text.length < policy.inspect.bytes && utf8Bytes(body.text) < policy.inspect.bytes;
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
