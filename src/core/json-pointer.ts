/** Whether `text` is JSON and has something, null included, where the pointer (RFC 6901) leads. Never throws. */
export function pointerExists(text: string, pointer: string): boolean {
  return pointedAt(text, pointer).kind === 'found';
}

export type Pointed =
  | { readonly kind: 'found'; readonly value: unknown }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'no_json' };

/** What stands where the pointer (RFC 6901) leads in a JSON text. Never throws. */
export function pointedAt(text: string, pointer: string): Pointed {
  const document = parse(text);
  if (document === undefined) return { kind: 'no_json' };
  if (pointer !== '' && !pointer.startsWith('/')) return { kind: 'nothing' };
  let value: unknown = document.value;
  for (const token of pointer.split('/').slice(1)) {
    const key = token.replaceAll('~1', '/').replaceAll('~0', '~');
    const step = stepInto(value, key);
    if (step === undefined) return { kind: 'nothing' };
    value = step.value;
  }
  return { kind: 'found', value };
}

function stepInto(value: unknown, key: string): { readonly value: unknown } | undefined {
  if (Array.isArray(value)) {
    const isIndex = INDEX.test(key) && Number(key) < value.length;
    return isIndex ? { value: value[Number(key)] } : undefined;
  }
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return { value: (value as Readonly<Record<string, unknown>>)[key] };
}

const INDEX = /^(?:0|[1-9]\d*)$/;

function parse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
