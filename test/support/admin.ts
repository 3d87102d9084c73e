import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { type JsonSchema, violation } from '../../src/admin/json-schema.ts';

/** What an admin server answered. */
export interface AdminAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  /** The text as JSON; throws where it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
  readonly json: any;
}

export interface AdminAsk {
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON, unless it is a text. */
  readonly body?: unknown;
}

interface OpenApi {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, JsonSchema> };
}

interface Operation {
  readonly responses: Record<string, { content?: Record<string, { schema?: JsonSchema }> }>;
}

/** Asks an admin server, and holds every answer against the server's own OpenAPI document. */
export class AdminCaller {
  readonly port: number;
  /** Operations that have answered well so far, as in `GET /api/v1/lanes`. */
  readonly used = new Set<string>();
  #document: OpenApi | undefined;

  constructor(port: number) {
    this.port = port;
  }

  get = (path: string, o: AdminAsk = {}): Promise<AdminAnswer> => this.call('GET', path, o);
  post = (path: string, body: unknown = {}): Promise<AdminAnswer> =>
    this.call('POST', path, { body });
  delete = (path: string, body: unknown = {}): Promise<AdminAnswer> =>
    this.call('DELETE', path, { body });

  /** A call below `/api/v1`. */
  async call(method: string, path: string, o: AdminAsk = {}): Promise<AdminAnswer> {
    const answer = await ask(this.port, method, `/api/v1${path}`, o);
    await this.#check(method, path, answer);
    return answer;
  }

  async document(): Promise<OpenApi> {
    this.#document ??= (await ask(this.port, 'GET', '/api/v1/openapi.json')).json as OpenApi;
    return this.#document;
  }

  async #check(method: string, path: string, answer: AdminAnswer): Promise<void> {
    const { paths, components } = await this.document();
    const what = `${method} ${path} ${answer.status}: ${answer.text.slice(0, 300)}`;
    if (answer.status >= 400) {
      assert.equal(answer.headers['content-type'], 'application/problem+json', what);
      if (method === 'HEAD') return;
      const fault = violation(answer.json, components.schemas.Problem ?? {}, components.schemas);
      assert.equal(fault, undefined, what);
      return;
    }
    const template = templateOf(`/api/v1${path.split('?')[0]}`, Object.keys(paths));
    const operation = paths[template]?.[(method === 'HEAD' ? 'GET' : method).toLowerCase()];
    const content = operation?.responses[answer.status]?.content;
    assert.ok(content, `not in the document: ${what}`);
    this.used.add(`${method} ${template}`);
    if (method === 'HEAD') return;
    const type = String(answer.headers['content-type']).split(';')[0] ?? '';
    const schema = content[type]?.schema;
    if (!schema) return;
    assert.equal(violation(answer.json, schema, components.schemas), undefined, what);
  }
}

/** One request to an admin server. */
export async function ask(
  port: number,
  method: string,
  path: string,
  { headers = {}, body }: AdminAsk = {},
): Promise<AdminAnswer> {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const json: Record<string, string> =
    method === 'GET' || method === 'HEAD' ? {} : { 'Content-Type': 'application/json' };
  const asked = request({
    ...{ host: '127.0.0.1', port, method, path, agent: false },
    headers: {
      ...json,
      ...(text === undefined ? {} : { 'Content-Length': Buffer.byteLength(text) }),
      ...headers,
    },
  });
  asked.end(text);
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  let all = '';
  for await (const piece of answer.setEncoding('utf8')) all += piece;
  return {
    status: answer.statusCode ?? 0,
    headers: answer.headers,
    text: all,
    get json() {
      return JSON.parse(all);
    },
  };
}

function templateOf(path: string, templates: readonly string[]): string {
  const fits = (template: string): boolean => {
    const pattern = template.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+');
    return new RegExp(`^${pattern}$`).test(path);
  };
  // As the server has it: one without parameters goes first.
  return templates.find((t) => t === path) ?? templates.find(fits) ?? path;
}
