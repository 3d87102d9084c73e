import { type Call, type Endpoint, missing, type Problem, problem } from './endpoint.ts';
import { type JsonSchema, violation } from './json-schema.ts';
import { SCHEMAS } from './schemas.ts';

export const API = '/api/v1';

/** An endpoint, and what the path says to it. */
export interface Found {
  readonly kind: 'found';
  readonly endpoint: Endpoint;
  readonly params: Readonly<Record<string, string>>;
}

/** Finds what a path below `/api/v1` means. */
export function route(
  method: string,
  path: string,
  endpoints: readonly Endpoint[],
): Found | Problem {
  const segments = decoded(path);
  if (segments === undefined) {
    return problem(400, 'bad_path', 'The path has a percent escape that cannot be read.');
  }
  const fitting = endpoints.flatMap((endpoint) => {
    const params = matched(endpoint.path, segments);
    return params ? [{ kind: 'found', endpoint, params } as const] : [];
  });
  // A path without parameters is meant before one with.
  const named = fitting.filter(({ endpoint }) => !endpoint.path.includes('{'));
  const candidates = named.length > 0 ? named : fitting;
  if (candidates.length === 0) {
    return missing(`There is nothing at ${path}; ${API}/openapi.json says what there is.`);
  }
  const wanted = method === 'HEAD' ? 'GET' : method;
  const found = candidates.find(({ endpoint }) => endpoint.method === wanted);
  return found ?? wrongMethod(candidates.map(({ endpoint }) => endpoint.method));
}

/** An error that names the methods there are. */
export function wrongMethod(methods: readonly string[]): Problem {
  const allow = [...(methods.includes('GET') ? ['HEAD'] : []), ...methods].join(', ');
  return problem(405, 'method_not_allowed', `This path knows ${allow}.`, { Allow: allow });
}

/** Reads the query as the endpoint's schemas say; keys it does not know are errors, so that a typo is told. */
export function readQuery(
  search: string,
  known: Readonly<Record<string, JsonSchema>> = {},
): Call['query'] | Problem {
  const query: Record<string, string | number | boolean> = {};
  for (const [key, text] of new URLSearchParams(search)) {
    const schema = Object.hasOwn(known, key) ? known[key] : undefined;
    if (!schema) {
      const keys = Object.keys(known).join(', ') || 'none';
      return problem(400, 'unknown_query', `The query key ${key} is not known; known: ${keys}.`);
    }
    if (Object.hasOwn(query, key)) return problem(400, 'bad_query', `${key} is there twice.`);
    const value = typed(text, schema);
    const fault = violation(value, schema, SCHEMAS, key);
    if (fault !== undefined) return problem(400, 'bad_query', `${fault}.`);
    query[key] = value;
  }
  return query;
}

/** Reads the body as the endpoint's schema says. */
export function readBody(text: string, schema: JsonSchema = NOTHING): Call['body'] | Problem {
  const value = text.trim() === '' ? {} : parsed(text);
  if (value === undefined) return problem(400, 'bad_json', 'The body is not JSON.');
  const fault = violation(value, schema, SCHEMAS);
  return fault === undefined
    ? (value as Call['body'])
    : problem(400, 'bad_body', `${fault.charAt(0).toUpperCase()}${fault.slice(1)}.`);
}

const NOTHING: JsonSchema = { type: 'object', properties: {}, additionalProperties: false };

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function typed(text: string, { type }: JsonSchema): string | number | boolean {
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return type === 'integer' && /^\d{1,15}$/.test(text) ? Number(text) : text;
}

function decoded(path: string): string[] | undefined {
  try {
    return path.split('/').slice(1).map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

function matched(
  template: string,
  segments: readonly string[],
): Readonly<Record<string, string>> | undefined {
  const parts = template.split('/').slice(1);
  if (parts.length !== segments.length) return undefined;
  const params: Record<string, string> = {};
  for (const [i, part] of parts.entries()) {
    const segment = segments[i] ?? '';
    if (!part.startsWith('{')) {
      if (part !== segment) return undefined;
    } else if (segment === '') return undefined;
    else params[part.slice(1, -1)] = segment;
  }
  return params;
}
