import type { AnswerSchema, Endpoint } from './endpoint.ts';
import type { JsonSchema } from './json-schema.ts';
import { API } from './router.ts';
import { ref, SCHEMAS } from './schemas.ts';

const PROBLEM = {
  description: 'An error.',
  content: { 'application/problem+json': { schema: ref('Problem') } },
};

/** The OpenAPI 3.1 document of the endpoints that there are. */
export function openApi(endpoints: readonly Endpoint[], version: string) {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const endpoint of endpoints) {
    const path = `${API}${endpoint.path}`;
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: operation(endpoint) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Forbear admin API',
      version,
      description:
        'Times are ISO 8601, spans milliseconds. Errors are application/problem+json. Calls that change something need Content-Type: application/json.',
    },
    servers: [{ url: '/' }],
    security: [{}, { token: [] }],
    paths,
    components: {
      schemas: SCHEMAS,
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  };
}

function operation(endpoint: Endpoint) {
  const { summary, path, query = {}, body, answers } = endpoint;
  const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    ...{ name, in: 'path', required: true, schema: { type: 'string' } },
  }));
  const keys = Object.entries(query).map(([name, schema]) => parameter(name, schema));
  return {
    summary,
    operationId: operationId(endpoint),
    ...(named.length + keys.length === 0 ? {} : { parameters: [...named, ...keys] }),
    ...(endpoint.method === 'GET' ? {} : { requestBody: requestBody(body) }),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, one]) => [status, answer(one)])),
      default: PROBLEM,
    },
  };
}

function parameter(name: string, schema: JsonSchema) {
  return { name, in: 'query', required: false, schema };
}

function requestBody(schema: JsonSchema | undefined) {
  const empty = { type: 'object', additionalProperties: false };
  const isNeeded = schema !== undefined && JSON.stringify(schema).includes('"required"');
  return { required: isNeeded, content: { 'application/json': { schema: schema ?? empty } } };
}

function answer({ description, contentType = 'application/json', schema }: AnswerSchema) {
  return { description, content: { [contentType]: schema ? { schema } : {} } };
}

/** As in `post_lanes_host_isolate`. */
function operationId({ method, path }: Endpoint): string {
  return `${method.toLowerCase()}${path.replace(/[{}]/g, '').replace(/[^A-Za-z0-9]+/g, '_')}`;
}
