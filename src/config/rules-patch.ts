import type { Marker, Sign } from '../core/marker.ts';
import type {
  ExpectCheck,
  ExpectRule,
  JsonCheck,
  ReplyCondition,
  ReplyRule,
} from '../core/policy.ts';
import { compact } from './compact.ts';
import type { MarkerInput } from './markers-schema.ts';
import type { ExpectCheckInput, ExpectRuleInput, ReplyRuleInput } from './rules-schema.ts';

/** A rule over replies in the code's names. */
export function replyRule(rule: ReplyRuleInput, index: number): ReplyRule {
  const { when } = rule;
  const headers = { ...when.header, ...when.headers };
  return {
    when: compact<ReplyCondition>({
      statuses: when.status,
      path: when.path,
      method: when.method,
      bodyContains: when.body_contains,
      bodyMatches: when.body_matches,
      headers:
        when.header || when.headers
          ? Object.fromEntries(
              Object.entries(headers).map(([name, part]) => [name.toLowerCase(), part]),
            )
          : undefined,
    }),
    verdict: rule.verdict,
    label: rule.label ?? `reply-${index + 1}-${rule.verdict}`,
  };
}

/** A rule of what a good reply shows in the code's names. */
export function expectRule(rule: ExpectRuleInput, index: number): ExpectRule {
  return {
    ...expectCheck(rule),
    when: compact<ExpectRule['when']>({
      path: rule.when?.path,
      method: rule.when?.method,
      statuses: rule.when?.status,
    }),
    otherwise: rule.else ?? 'transient',
    label: rule.label ?? `expect-${index + 1}`,
  };
}

function expectCheck(check: ExpectCheckInput | ExpectRuleInput): ExpectCheck {
  const deeper = 'any' in check || 'all' in check || 'not' in check ? check : {};
  return compact<ExpectCheck>({
    bodyContains: check.body_contains,
    bodyMatches: check.body_matches,
    json: check.json && jsonCheck(check.json),
    minBytes: check.min_bytes,
    contentType: check.content_type,
    css: check.css && { selector: check.css.selector, min: check.css.min ?? 1 },
    all: deeper.all?.map(expectCheck),
    any: deeper.any?.map(expectCheck),
    not: deeper.not && expectCheck(deeper.not),
  });
}

function jsonCheck(json: NonNullable<ExpectCheckInput['json']>): string | JsonCheck {
  if (Object.keys(json).length === 1) return json.pointer;
  return {
    ...compact<JsonCheck>({ pointer: json.pointer, exists: json.exists, minItems: json.min_items }),
    // Null is a value to compare with, unlike what was left out.
    ...(json.equals === undefined ? {} : { equals: json.equals.value }),
  };
}

/** A marker of the user's in the form of the built-in table. Pages are compared in lower case. */
export function markerRow(row: MarkerInput): Marker {
  const headers = Object.entries(row.headers ?? {}).map(
    ([name, has]): Sign => ({ header: [name.toLowerCase(), has.toLowerCase()] }),
  );
  const texts = (row.body ?? []).map((mark): Sign => ({ body: [mark.toLowerCase()] }));
  return compact<Marker>({
    id: row.id,
    kind: row.kind,
    signs: [...headers, ...texts, ...(row.signs ?? []).map(sign)],
    proof: row.proof && {
      header: row.proof.header.toLowerCase(),
      words: row.proof.words === undefined ? [''] : lower(row.proof.words),
    },
    unless: row.unless && lower(row.unless),
    unlessPath: row.unless_path && lower(row.unless_path),
    maxText: row.max_text,
    statuses: row.status,
  });
}

function sign({ body, text, title, header }: NonNullable<MarkerInput['signs']>[number]): Sign {
  return compact<Sign>({
    body: body && lower(body),
    text: text && lower(text),
    title: title && lower(title),
    header: header && [header.name.toLowerCase(), (header.has ?? '').toLowerCase()],
  });
}

const lower = (marks: readonly string[]): readonly string[] =>
  marks.map((mark) => mark.toLowerCase());
