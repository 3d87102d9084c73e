const BLANK = '***';
/** Fields that let somebody in. */
const SECRET_FIELD =
  /^(?:proxy-)?authorization$|^(?:set-)?cookie2?$|token|secret|password|passwd|credential|api-?key|^x-auth|session|signature|csrf|xsrf/i;
/** Query parameters that do. */
const SECRET_PARAMETER =
  /^(?:[^=&]*[-_.])?(?:token|secret|password|passwd|pwd|api-?_?key|apikey|key|auth|sig|signature|session|sessionid|sid|jwt|code)$/i;

/** What is shown or kept once its credentials are taken out. */
export interface Blanked<T> {
  readonly value: T;
  /** Whether there were any. */
  readonly changed: boolean;
}

/** Blanks the values of credential fields; names and their order stay. */
export function blankFields(rawHeaders: readonly string[]): Blanked<readonly string[]> {
  let changed = false;
  const value = rawHeaders.map((text, i) => {
    if (i % 2 === 0 || text === '' || !SECRET_FIELD.test(rawHeaders[i - 1] ?? '')) return text;
    changed = true;
    return BLANK;
  });
  return { value, changed };
}

/** Blanks the values of query parameters that are credentials by their name; all else stays byte for byte. */
export function blankUrl(url: string): Blanked<string> {
  const at = url.indexOf('?');
  if (at === -1) return { value: url, changed: false };
  let changed = false;
  const query = url.slice(at + 1).replace(/([^=&;]+)=([^&;]+)/g, (whole, name: string) => {
    if (!SECRET_PARAMETER.test(name)) return whole;
    changed = true;
    return `${name}=${BLANK}`;
  });
  return { value: `${url.slice(0, at + 1)}${query}`, changed };
}
