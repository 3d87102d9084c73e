import { compile } from 'css-select';
import { RE2JS } from 're2js';
import { parseTemplate } from '../core/template.ts';
import { scalar } from './scalar.ts';

const STRING = { type: 'string' } as const;

interface TextSpec {
  readonly expects: string;
  readonly secret?: boolean;
  /** undefined: fine. */
  readonly refuse?: (text: string) => string | undefined;
  readonly test?: RegExp;
}

/** A text that is not empty, with a check of its own. */
export function textOf(spec: TextSpec) {
  return scalar<string>({
    expects: spec.expects,
    json: spec.test ? { ...STRING, pattern: spec.test.source } : { ...STRING, minLength: 1 },
    secret: spec.secret ?? false,
    parse: (value) => {
      if (typeof value !== 'string' || value === '') return undefined;
      if (spec.test && !spec.test.test(value)) return undefined;
      const refused = spec.refuse?.(value);
      return refused === undefined ? value : { refused };
    },
  });
}

export const text = textOf({ expects: 'a text' });

/** A text that no output shows. Numbers must be quoted, or leading zeros would be lost. */
export const secretText = textOf({
  expects: 'a text (in quotes if it looks like a number)',
  secret: true,
});

/** A name or code, such as a country; numbers are taken as their digits. */
export const word = scalar<string>({
  expects: 'a name or a number',
  json: { type: ['string', 'integer'] },
  parse: (value) => {
    if (Number.isSafeInteger(value)) return String(value);
    return typeof value === 'string' && value !== '' ? value : undefined;
  },
});

export const headerName = textOf({
  expects: 'a header name',
  test: /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/,
});

export const methodName = scalar<string>({
  expects: 'a method name such as GET',
  json: { ...STRING, pattern: '^[A-Za-z][A-Za-z-]*$' },
  parse: (value) =>
    typeof value === 'string' && /^[A-Za-z][A-Za-z-]*$/.test(value)
      ? value.toUpperCase()
      : undefined,
});

export const hostGlob = textOf({
  expects: 'a host name or glob, such as www.example.com or *.example.com',
  test: /^[^\s/]*[^\s/:]$/,
});

export const pathGlob = textOf({
  expects: 'a path glob that starts with / or *, such as /search*',
  test: /^[/*]\S*$/,
});

export const mediaType = scalar<string>({
  expects: 'a media type such as text/html, text/* or application/*+json',
  json: { ...STRING, pattern: '^[^\\s/;]+/[^\\s/;]+$' },
  parse: (value) =>
    typeof value === 'string' && /^[^\s/;]+\/[^\s/;]+$/.test(value)
      ? value.toLowerCase()
      : undefined,
});

export const webUrl = textOf({
  expects: 'an http:// or https:// URL',
  refuse: (url) => {
    const parsed = URL.canParse(url) ? new URL(url) : undefined;
    if (parsed?.protocol === 'http:' || parsed?.protocol === 'https:') return undefined;
    return 'expected an http:// or https:// URL';
  },
});

/** Run without backtracking, so that a page cannot make it slow. */
export const pattern = textOf({
  expects: 'a regular expression in RE2 syntax',
  refuse: (source) => {
    try {
      RE2JS.compile(source);
      return undefined;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return `not a regular expression in RE2 syntax (${oneLine(why)}); lookaround and backreferences do not exist there`;
    }
  },
});

export const cssSelector = textOf({
  expects: 'a CSS selector',
  refuse: (selector) => {
    try {
      compile(selector);
      return undefined;
    } catch (error) {
      return `not a CSS selector (${oneLine(error instanceof Error ? error.message : String(error))})`;
    }
  },
});

/** RFC 6901. */
export const jsonPointer = textOf({
  expects: 'a JSON Pointer such as /items/0/id',
  test: /^(?:\/(?:[^~/]|~[01])*)+$/,
});

/** Sent as it stands, one byte a character: what has no byte would break the request at run time. */
export const headerTemplate = textOf({
  expects: 'a header value (a template)',
  secret: true,
  refuse: (value) => {
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      return 'a header value can hold only Latin-1 characters, and no line breaks';
    }
    return templateProblem(value);
  },
});

/** A user name or password with `{variables}` and `[optional groups]`. */
export const credentialTemplate = textOf({
  expects: 'a text (a template)',
  secret: true,
  refuse: templateProblem,
});

/** Why a text is no template, or undefined if it is one. Never quotes it. */
export function templateProblem(source: string): string | undefined {
  const template = parseTemplate(source);
  if (!('message' in template)) return undefined;
  return `not a template: ${template.message} (character ${template.at + 1})`;
}

function oneLine(message: string): string {
  return message.replaceAll(/\s+/g, ' ').slice(0, 160);
}
