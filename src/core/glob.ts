// A glob is run as a set of positions reached so far, one pass over the text: no input makes it slow.
const ONE = -1;
const WITHIN = -2;
const ACROSS = -3;
const SLASH = 47;
const QUESTION = 63;
const STAR = 42;

/**
 * Whether the whole text fits a glob: `*` stays within a path segment, `**` crosses them.
 * After a `?` in the text there are no segments. A glob without `?` may leave the query out.
 * Time grows with text × glob, whatever they are.
 */
export function globMatches(glob: string, text: string): boolean {
  const tokens = pathTokens(glob);
  if (runs(tokens, text)) return true;
  const query = glob.includes('?') ? -1 : text.indexOf('?');
  return query !== -1 && runs(tokens, text.slice(0, query));
}

/** Whether a host fits a glob: `*` stands for one or more characters, dots included; case and IPv6 brackets do not count. */
export function hostGlobMatches(glob: string, host: string): boolean {
  return runs(hostTokens(bare(glob)), bare(host));
}

function pathTokens(glob: string): number[] {
  const tokens: number[] = [];
  for (let i = 0; i < glob.length; i++) {
    const code = glob.charCodeAt(i);
    if (code !== STAR) {
      tokens.push(code);
      continue;
    }
    let stars = 1;
    while (glob.charCodeAt(i + 1) === STAR) {
      stars++;
      i++;
    }
    tokens.push(stars > 1 ? ACROSS : WITHIN);
  }
  return tokens;
}

function hostTokens(glob: string): number[] {
  return pathTokens(glob).flatMap((token) => (token < 0 ? [ONE, ACROSS] : [token]));
}

function runs(tokens: readonly number[], text: string): boolean {
  let reached = skipStars(new Uint8Array(tokens.length + 1).fill(1, 0, 1), tokens);
  let segmented = true;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUESTION) segmented = false;
    const next = advanced(reached, tokens, code, segmented && code === SLASH);
    if (!next.includes(1)) return false;
    reached = skipStars(next, tokens);
  }
  return reached[tokens.length] === 1;
}

function advanced(
  reached: Uint8Array,
  tokens: readonly number[],
  code: number,
  atBorder: boolean,
): Uint8Array {
  const next = new Uint8Array(tokens.length + 1);
  for (let at = 0; at < tokens.length; at++) {
    if (reached[at] === 0) continue;
    const token = tokens[at];
    if (token === ACROSS || (token === WITHIN && !atBorder)) next[at] = 1;
    if (token === ONE || token === code) next[at + 1] = 1;
  }
  return next;
}

/** A star may stand for nothing, so whoever has reached it has reached what follows. */
function skipStars(reached: Uint8Array, tokens: readonly number[]): Uint8Array {
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    if (reached[at] === 1 && (token === WITHIN || token === ACROSS)) reached[at + 1] = 1;
  }
  return reached;
}

function bare(host: string): string {
  const lower = host.toLowerCase();
  return lower.startsWith('[') && lower.endsWith(']') ? lower.slice(1, -1) : lower;
}
