import { readFileSync } from 'node:fs';

export type Env = Readonly<Record<string, string | undefined>>;

interface Interpolated {
  readonly text: string;
  /** The references that were filled in, as written; undefined when there were none. */
  readonly from: string | undefined;
  readonly problems: readonly string[];
}

const REFERENCE = /\$(\$\{|\{([^}]*)\})/g;

/**
 * Fills in `${NAME}` and `${file:/path}`; `$${` is `${` itself.
 * Inside the credentials of a URL what is filled in is taken literally, as if it had been percent-encoded.
 */
export function interpolate(text: string, env: Env, notation: 'text' | 'url'): Interpolated {
  const problems: string[] = [];
  const from: string[] = [];
  const credentialsEnd = notation === 'url' ? text.lastIndexOf('@') : -1;
  const filled = text.replaceAll(REFERENCE, (match, body: string, name = '', at: number) => {
    if (body === '${') return '${';
    const found = look(String(name), env);
    if (found.kind === 'problem') {
      problems.push(found.problem);
      return '';
    }
    from.push(match);
    return at < credentialsEnd ? encodeURIComponent(found.text.toWellFormed()) : found.text;
  });
  return { text: filled, from: from.length > 0 ? from.join(' and ') : undefined, problems };
}

type Found =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'problem'; readonly problem: string };

function look(name: string, env: Env): Found {
  if (name.startsWith('file:')) return readSecret(name.slice('file:'.length));
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    return problem(
      `\${…} holds the name of an environment variable or file:/path; write $\${ for the characters themselves`,
    );
  }
  const text = Object.hasOwn(env, name) ? env[name] : undefined;
  if (text === undefined) return problem(`the environment variable ${name} is not set`);
  return { kind: 'text', text };
}

function readSecret(path: string): Found {
  try {
    // The newline that editors and `echo` put at the end belongs to no secret.
    return { kind: 'text', text: readFileSync(path, 'utf8').replace(/\r?\n$/, '') };
  } catch (error) {
    return problem(`the file ${path} cannot be read (${errorCode(error)})`);
  }
}

/** The system's word for what went wrong. */
export function errorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'unreadable';
}

function problem(text: string): Found {
  return { kind: 'problem', problem: text };
}
