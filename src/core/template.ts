/**
 * A parsed template: `{variable|filter:argument}` and `[optional groups]`. Rendering is pure.
 * A doubled `{{`, `}}`, `[[` or `]]` is the character itself.
 */
export interface Template {
  readonly source: string;
  readonly parts: readonly Part[];
}

/** Why a text is no template, and where (0-based index). It never quotes the text: that may hold a password. */
export interface TemplateFault {
  readonly at: number;
  readonly message: string;
}

type Part = Flat | { readonly kind: 'group'; readonly parts: readonly Flat[] };

type Flat =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'variable'; readonly name: string; readonly filters: readonly Filter[] };

type Filter =
  | { readonly kind: 'alnum' | 'digits'; readonly length: number }
  | { readonly kind: 'range'; readonly min: number; readonly max: number }
  | { readonly kind: 'uuid' | 'lower' | 'upper' | 'slug' | 'minutes' }
  | { readonly kind: 'map'; readonly pairs: Readonly<Record<string, string>> };

type Hash = (text: string) => string;

const LONGEST_TOKEN = 64;

/** Reads a template, or says what is wrong with it. */
export function parseTemplate(text: string): Template | TemplateFault {
  const parts: Part[] = [];
  let group: { at: number; parts: Flat[] } | undefined;
  const put = (part: Flat) => (group?.parts ?? parts).push(part);
  for (let at = 0; at < text.length; ) {
    const token = nextToken(text, at);
    switch (token.kind) {
      case 'fault':
        return { at: token.at, message: token.message };
      case 'text':
      case 'variable':
        put(token.part);
        break;
      case 'open':
        if (group) return { at, message: 'a group inside a group; write [[ for a bracket itself' };
        group = { at, parts: [] };
        break;
      case 'close':
        if (!group) return { at, message: '] without its [; write ]] for the bracket itself' };
        parts.push(...closed(group.parts));
        group = undefined;
        break;
    }
    at = token.next;
  }
  if (group) return { at: group.at, message: '[ without its ]; write [[ for the bracket itself' };
  return { source: text, parts };
}

/** The variables a template names, each once, in order of first use. */
export function templateVariables(template: Template): readonly string[] {
  const flat = template.parts.flatMap((part) => (part.kind === 'group' ? part.parts : [part]));
  return [...new Set(flat.flatMap((part) => (part.kind === 'variable' ? [part.name] : [])))];
}

/**
 * The template with its variables filled in; unknown ones are empty. `hash` gives hex digits: the filters that
 * make identifiers (`alnum digits range uuid`) derive them from it, so that the same text always gives the same one.
 */
export function renderTemplate(
  template: Template,
  variables: Readonly<Record<string, string>>,
  hash: Hash,
): string {
  const render = (part: Flat) =>
    part.kind === 'text' ? part.text : valueFor(part.name, part.filters, variables, hash);
  return template.parts
    .map((part) => {
      if (part.kind !== 'group') return render(part);
      const texts = part.parts.map(render);
      const dropped = part.parts.some((inner, i) => inner.kind === 'variable' && texts[i] === '');
      return dropped ? '' : texts.join('');
    })
    .join('');
}

/** The text of a template that renders as exactly `text`, for values that must not be read as templates. */
export function escapeTemplate(text: string): string {
  return text.replaceAll(/[[\]{}]/g, '$&$&');
}

type Token =
  | { readonly kind: 'text' | 'variable'; readonly part: Flat; readonly next: number }
  | { readonly kind: 'open' | 'close'; readonly next: number }
  | {
      readonly kind: 'fault';
      readonly at: number;
      readonly message: string;
      readonly next: number;
    };

function nextToken(text: string, at: number): Token {
  const char = text[at] ?? '';
  if (!'{}[]'.includes(char)) {
    const rest = text.slice(at).search(/[[\]{}]/);
    const next = rest < 0 ? text.length : at + rest;
    return { kind: 'text', part: { kind: 'text', text: text.slice(at, next) }, next };
  }
  if (text[at + 1] === char) {
    return { kind: 'text', part: { kind: 'text', text: char }, next: at + 2 };
  }
  if (char === '[') return { kind: 'open', next: at + 1 };
  if (char === ']') return { kind: 'close', next: at + 1 };
  if (char === '}') return faultAt(at, '} without its {; write }} for the brace itself');
  const end = text.indexOf('}', at);
  if (end < 0) return faultAt(at, '{ without its }; write {{ for the brace itself');
  const part = parseVariable(text.slice(at + 1, end));
  if (typeof part === 'string') return faultAt(at, part);
  return { kind: 'variable', part, next: end + 1 };
}

function faultAt(at: number, message: string): Token {
  return { kind: 'fault', at, message, next: at };
}

/** Brackets around plain text are plain text, as in many generated passwords. */
function closed(parts: readonly Flat[]): readonly Part[] {
  if (parts.some((part) => part.kind === 'variable')) return [{ kind: 'group', parts }];
  return [{ kind: 'text', text: '[' }, ...parts, { kind: 'text', text: ']' }];
}

function parseVariable(inside: string): Flat | string {
  const [name = '', ...calls] = inside.split('|');
  if (!/^[a-z][a-z0-9_]*$/.test(name)) {
    return 'a variable is lower-case letters, digits and _, as in {session}; write {{ for a brace itself';
  }
  const filters: Filter[] = [];
  for (const call of calls) {
    const filter = parseFilter(call);
    if (typeof filter === 'string') return filter;
    filters.push(filter);
  }
  return { kind: 'variable', name, filters };
}

function parseFilter(call: string): Filter | string {
  const colon = call.indexOf(':');
  const kind = colon < 0 ? call : call.slice(0, colon);
  const argument = colon < 0 ? undefined : call.slice(colon + 1);
  switch (kind) {
    case 'alnum':
    case 'digits':
      return parseLength(kind, argument);
    case 'range':
      return parseRange(argument);
    case 'map':
      return parseMap(argument);
    case 'uuid':
    case 'lower':
    case 'upper':
    case 'slug':
    case 'minutes':
      return argument === undefined ? { kind } : `the filter ${kind} takes no argument`;
  }
  return 'an unknown filter; there are alnum:N digits:N range:A-B uuid lower upper slug minutes map:a=b;c=d';
}

function parseLength(kind: 'alnum' | 'digits', argument: string | undefined): Filter | string {
  const length = /^\d{1,3}$/.test(argument ?? '') ? Number(argument) : 0;
  if (length >= 1 && length <= LONGEST_TOKEN) return { kind, length };
  return `the filter ${kind} takes a length from 1 to ${LONGEST_TOKEN}, as in ${kind}:8`;
}

function parseRange(argument: string | undefined): Filter | string {
  const [, low, high] = /^(\d{1,15})-(\d{1,15})$/.exec(argument ?? '') ?? [];
  const min = Number(low);
  const max = Number(high);
  if (min <= max) return { kind: 'range', min, max };
  return 'the filter range takes two whole numbers in order, as in range:10001-49999';
}

function parseMap(argument: string | undefined): Filter | string {
  const pairs = (argument ?? '').split(';').map((pair) => {
    const equals = pair.indexOf('=');
    return equals < 0 ? undefined : ([pair.slice(0, equals), pair.slice(equals + 1)] as const);
  });
  const known = pairs.filter((pair) => pair !== undefined);
  if (known.length === pairs.length) return { kind: 'map', pairs: Object.fromEntries(known) };
  return 'the filter map takes pairs, as in map:gb=uk;el=gr (nothing before the = stands for an empty value)';
}

function valueFor(
  name: string,
  filters: readonly Filter[],
  variables: Readonly<Record<string, string>>,
  hash: Hash,
): string {
  const given = Object.hasOwn(variables, name) ? (variables[name] ?? '') : '';
  return filters.reduce((value, filter) => applyFilter(value, filter, hash), given);
}

function applyFilter(value: string, filter: Filter, hash: Hash): string {
  if (filter.kind === 'map') {
    return Object.hasOwn(filter.pairs, value) ? (filter.pairs[value] ?? '') : value;
  }
  // Nothing stays nothing, or an optional group could never be dropped.
  if (value === '') return '';
  switch (filter.kind) {
    case 'lower':
      return value.toLowerCase();
    case 'upper':
      return value.toUpperCase();
    case 'slug':
      return slug(value);
    case 'minutes':
      return minutes(value);
    case 'alnum':
      return token(value, { base: 36, length: filter.length }, hash);
    case 'digits':
      return token(value, { base: 10, length: filter.length }, hash);
    case 'range':
      return String(
        BigInt(filter.min) + (digest(value, hash) % BigInt(filter.max - filter.min + 1)),
      );
    case 'uuid':
      return uuid(value, hash);
  }
}

/** With `_`, because `-` separates the parameters of most providers' user names. */
function slug(value: string): string {
  const plain = value.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  return plain.replaceAll(/[^a-z0-9]+/g, '_').replaceAll(/^_+|_+$/g, '');
}

/** Seconds to whole minutes, upwards: a session must not end before its time. */
function minutes(value: string): string {
  const seconds = Number(value);
  return Number.isFinite(seconds) ? String(Math.max(1, Math.ceil(seconds / 60))) : value;
}

/** Exactly `length` characters; the first is never 0, which number fields would drop. */
function token(value: string, shape: { base: 10 | 36; length: number }, hash: Hash): string {
  const base = BigInt(shape.base);
  const least = base ** BigInt(shape.length - 1);
  const most = least * (base - 1n);
  return (least + (digest(value, hash) % most)).toString(shape.base);
}

/** Two digests, so that even the longest token has no visible pattern. */
function digest(value: string, hash: Hash): bigint {
  return BigInt(`0x${hash(`1\n${value}`)}${hash(`2\n${value}`)}`);
}

/** Shaped as version 4 (RFC 9562 §5.4): providers check the shape, not the dice. */
function uuid(value: string, hash: Hash): string {
  const hex = digest(value, hash).toString(16).padStart(32, '0').slice(-32);
  const variant = '89ab'[Number.parseInt(hex[16] ?? '0', 16) % 4];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
}
