import type { JsonSchema } from './json-schema.ts';

/** One operation of the API: what the router goes by, and what the OpenAPI document says. */
export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Below `/api/v1`, with parameters as in `/lanes/{host}`. */
  readonly path: string;
  readonly summary: string;
  /** The query keys it knows. */
  readonly query?: Readonly<Record<string, JsonSchema>>;
  /** Absent: the body is empty, or an empty object. */
  readonly body?: JsonSchema;
  readonly answers: Readonly<Record<number, AnswerSchema>>;
  handle(call: Call): Answer | Promise<Answer>;
}

export interface AnswerSchema {
  readonly description: string;
  /** `application/json` unless named. */
  readonly contentType?: string;
  readonly schema?: JsonSchema;
}

/** A request that has passed the guard, with everything checked against the endpoint's schemas. */
export interface Call {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | number | boolean>>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export type Answer =
  | { readonly kind: 'json'; readonly status: number; readonly body: unknown }
  | {
      readonly kind: 'bytes';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Uint8Array;
    }
  /** Text in pieces. Ended early, it is cut off, so that nobody takes it for whole. */
  | {
      readonly kind: 'text';
      readonly contentType: string;
      readonly pieces: AsyncIterable<string>;
    }
  /** Server-sent events. */
  | { readonly kind: 'events'; readonly types: readonly string[]; readonly after: string }
  | Problem;

/** An error in the form of RFC 9457. */
export interface Problem {
  readonly kind: 'problem';
  readonly status: number;
  /** A stable word. */
  readonly reason: string;
  /** One sentence. */
  readonly detail: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer of JSON. */
export const json = (body: unknown, status = 200): Answer => ({ kind: 'json', status, body });

/** An error. */
export function problem(
  status: number,
  reason: string,
  detail: string,
  headers?: Readonly<Record<string, string>>,
): Problem {
  return { kind: 'problem', status, reason, detail, ...(headers && { headers }) };
}

/** There is nothing of that name. */
export const missing = (detail: string): Problem => problem(404, 'not_found', detail);
