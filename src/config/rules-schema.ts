import * as z from 'zod';
import { scalar } from './scalar.ts';
import { flag, statuses, whole } from './scalars.ts';
import { option, required } from './setting.ts';
import {
  cssSelector,
  headerName,
  jsonPointer,
  mediaType,
  methodName,
  pathGlob,
  pattern,
  text,
} from './texts.ts';

const where = {
  path: option(pathGlob, 'Path glob over path and query.'),
  method: option(methodName, 'The request method.'),
};

const contains = z.string({ error: 'a text' });
const body = {
  body_contains: option(text, 'The decoded body holds this text.'),
  body_matches: option(pattern, 'The decoded body matches this regular expression (RE2 syntax).'),
};

/** One of the user's rules over replies; the first that matches decides, before any other evidence. */
export const replyRule = z.strictObject({
  when: required(
    z.strictObject({
      status: option(statuses, 'Status codes: 503, 520-524, or a list of these.'),
      ...where,
      ...body,
      header: option(
        z.record(headerName, contains),
        'Header names with a text that the value contains; an empty text: the header is there.',
      ),
      headers: option(z.record(headerName, contains), 'The same as `header`.'),
    }),
    'What the reply looks like; all conditions given must hold.',
  ),
  verdict: required(
    z.enum(['terminal', 'transient', 'rate', 'address', 'ok']),
    'terminal: deliver, never retry; transient: back off; rate: the lane pauses; address: another route; ok: a good reply, whatever it looks like.',
  ),
  label: option(
    text,
    'Names the rule in logs and replies; made from its place and verdict if left out.',
  ),
});

const plainValue = scalar<{ readonly value: string | number | boolean | null }>({
  expects: 'a text, a number, true, false or null',
  json: { type: ['string', 'number', 'boolean', 'null'] },
  parse: (value) =>
    value === null || ['string', 'number', 'boolean'].includes(typeof value)
      ? { value: value as string | number | boolean | null }
      : undefined,
});

const json = z.preprocess(
  (value) => (typeof value === 'string' ? { pointer: value } : value),
  z.strictObject({
    pointer: required(jsonPointer, 'A JSON Pointer (RFC 6901), such as /items/0/id.'),
    exists: option(flag, 'Whether something stands there; true if nothing else is asked.'),
    equals: option(plainValue, 'What stands there.'),
    min_items: option(whole({ min: 0 }), 'The least number of entries of what stands there.'),
  }),
);

const checks = {
  ...body,
  json: option(
    json,
    'The body is JSON, and this JSON Pointer (RFC 6901) exists in it; or {pointer, exists, equals, min_items}.',
  ),
  min_bytes: option(whole({ min: 1 }), 'The decoded body has at least this many bytes.'),
  content_type: option(mediaType, 'The media type, as in text/html, text/* or application/*+json.'),
  css: option(
    z.strictObject({
      selector: required(cssSelector, 'A CSS selector.'),
      min: option(whole({ min: 1 }), 'The least number of matches; 1 if left out.'),
    }),
    'The page has elements that match.',
  ),
};

// Named, so that the JSON Schema has them once.
const single = z.strictObject(checks).meta({ id: 'expect_check' });
const combined = z
  .strictObject({ ...checks, ...combinations(single) })
  .meta({ id: 'expect_combination' });

/** What a good reply must show; one that does not is a soft block. */
export const expectRule = z.strictObject({
  when: option(
    z.strictObject({
      ...where,
      status: option(statuses, 'Without it: any 2xx but 204 and 206.'),
    }),
    'The replies that are checked; all if left out.',
  ),
  ...checks,
  ...combinations(combined),
  else: option(
    z.enum(['transient', 'rate', 'address', 'terminal']),
    'What it means when a check fails; transient if left out.',
  ),
  label: option(text, 'Names the rule in logs and replies; made from its place if left out.'),
});

function combinations<S extends z.ZodType>(check: S) {
  return {
    all: option(z.array(check), 'Each of these holds; they take the same keys.'),
    any: option(z.array(check), 'At least one of these holds.'),
    not: option(check, 'This does not hold.'),
  };
}

export type ReplyRuleInput = z.output<typeof replyRule>;
export type ExpectRuleInput = z.output<typeof expectRule>;
export type ExpectCheckInput = z.output<typeof combined> | z.output<typeof single>;
