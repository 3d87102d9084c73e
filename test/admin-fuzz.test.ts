import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { adminDesk, laneSight, routeSight } from './support/admin-desk.ts';

const name = fc.oneof(
  fc.constantFrom(
    'a.test',
    'a.test%23slow',
    'x',
    '..',
    '%2F',
    '%00',
    '[::1]',
    '%F0%9F%98%80',
    'r1',
  ),
  fc.string({ minLength: 1, maxLength: 20 }).map((text) => encodeURIComponent(text.toWellFormed())),
);
const word = fc.oneof(
  fc.constantFrom(
    'limit',
    'cursor',
    'state',
    'host',
    'types',
    '__proto__',
    'with_secrets',
    'format',
  ),
  fc.string({ maxLength: 8 }),
);
const query = fc.array(fc.tuple(word, fc.oneof(word, fc.nat().map(String))), { maxLength: 3 });
const body = fc.oneof(
  fc.json({ maxDepth: 3 }),
  fc.string({ maxLength: 30 }),
  fc.constantFrom('{"ids":["x"]}', '{"all":true}', '{"for_ms":1}', '{"__proto__":{}}', ''),
);

test('whatever is asked, the answer is one that the document knows, and never a bug', async (t) => {
  const { admin, lanes, routes } = await adminDesk(t);
  lanes.push(laneSight('a.test'), laneSight('a.test#slow'));
  routes.push(routeSight('r1'));
  const { paths } = await admin.document();
  const templates = Object.keys(paths)
    .map((path) => path.replace('/api/v1', ''))
    .filter((path) => path !== '/events');
  const asked = fc.record({
    method: fc.constantFrom('GET', 'POST', 'DELETE', 'HEAD', 'PUT'),
    template: fc.constantFrom(...templates),
    ...{ name, query, body },
  });
  await fc.assert(
    fc.asyncProperty(asked, async ({ method, template, name: id, query: keys, body: text }) => {
      const path = template.replace(/\{\w+\}/, () => id);
      const search = new URLSearchParams([...keys]).toString();
      const sends = method === 'GET' || method === 'HEAD' ? {} : { body: text };
      // Checks the answer against the document.
      const call = await admin.call(method, search === '' ? path : `${path}?${search}`, sends);
      assert.ok(call.status < 500, `${call.status} ${call.text}`);
    }),
    { numRuns: 300 },
  );
});
