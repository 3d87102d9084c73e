import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readHeaders, readUsername, unknownProfile } from './directives.ts';

const nobody = () => false;

const usernames: [string, string, object][] = [
  ['job', 'job', {}],
  ['', '', {}],
  ['my-long-job', 'my-long-job', {}],
  ['job-session-abc_1', 'job', { session: 'abc_1' }],
  ['my-job-session-a-country-US', 'my-job', { session: 'a', country: 'us' }],
  [
    'job-patience-20s-attempts-3-profile-fast',
    'job',
    { patienceMs: 20_000, maxAttempts: 3, profile: 'fast' },
  ],
  [
    'job-attempts-3-session-a-patience-250ms',
    'job',
    { session: 'a', maxAttempts: 3, patienceMs: 250 },
  ],
  ['session-a', 'session-a', {}],
  ['session-session-a', 'session', { session: 'a' }],
  ['job-session-a-unknown-b', 'job-session-a-unknown-b', {}],
  ['job-Session-a', 'job-Session-a', {}],
  ['job-constructor-a', 'job-constructor-a', {}],
];
for (const [username, name, directives] of usernames) {
  test(`the username "${username}" is read as ${JSON.stringify({ name, ...directives })}`, () => {
    assert.deepEqual(readUsername(username, nobody), { kind: 'ok', value: { name, directives } });
  });
}

const badUsernames: [string, RegExp][] = [
  ['job-patience-soon', /patience is "soon"; expected a duration/],
  ['job-patience-20', /patience/],
  ['job-attempts-0', /attempts/],
  ['job-attempts-101', /attempts/],
  ['job-country-usa', /two-letter/],
  ['job-session-a.b', /session is "a.b"/],
  ['job-session-', /session/],
  ['job-session-a-session-b', /session twice/],
];
for (const [username, expected] of badUsernames) {
  test(`the username "${username}" is refused`, () => {
    const read = readUsername(username, nobody);
    assert.equal(read.kind, 'bad');
    assert.match(read.kind === 'bad' ? read.detail : '', expected);
  });
}

test("a configured client's name is never cut, whatever it looks like", () => {
  const isClient = (name: string) => name === 'job-session-x';
  assert.deepEqual(readUsername('job-session-x', isClient), {
    kind: 'ok',
    value: { name: 'job-session-x', directives: {} },
  });
  assert.deepEqual(readUsername('job-session-x-session-y', isClient), {
    kind: 'ok',
    value: { name: 'job-session-x', directives: { session: 'y' } },
  });
});

test('what a name and its wishes are put together from is read back', () => {
  const word = fc.stringMatching(/^[A-Za-z0-9_]{1,12}$/);
  const name = fc.stringMatching(/^[a-z]{1,8}(-[A-Z]{1,8}){0,2}$/);
  fc.assert(
    fc.property(name, word, fc.integer({ min: 1, max: 100 }), (who, session, maxAttempts) => {
      const read = readUsername(`${who}-session-${session}-attempts-${maxAttempts}`, nobody);
      assert.deepEqual(read, {
        kind: 'ok',
        value: { name: who, directives: { session, maxAttempts } },
      });
    }),
  );
});

test('headers are read whatever their case, and other headers are left alone', () => {
  assert.deepEqual(
    readHeaders([
      ...[
        'Host',
        'o.test',
        'forbear-session',
        ' a;b ',
        'FORBEAR-COUNTRY',
        'De',
        'Forbear-Patience',
        '1.5s',
      ],
      ...['Forbear-Max-Attempts', '7', 'Forbear-Profile', 'slow-lane', 'Forbear-Retry', 'OFF'],
      ...['Forbear-Expect', '\u00e5\u0090\u008d', 'X-Forbear-Like', '1'],
    ]),
    {
      kind: 'ok',
      value: {
        session: 'a;b',
        country: 'de',
        patienceMs: 1500,
        maxAttempts: 7,
        profile: 'slow-lane',
        retry: 'off',
        expectText: '名',
      },
    },
  );
});

const badHeaders: [string, string, RegExp][] = [
  ['Forbear-Sesion', 'a', /Forbear-Sesion is not .* Did you mean Forbear-Session\?/],
  ['Forbear-Quite-Another-Thing', 'a', /Known: Forbear-Session/],
  ['Forbear-Session', '', /Forbear-Session is ""; expected 1 to 64/],
  ['Forbear-Session', 'a b', /visible/],
  ['Forbear-Session', 'x'.repeat(65), /64/],
  ['Forbear-Session', 'caf\u00e9', /ASCII/],
  ['Forbear-Expect', '', /text a good body contains/],
  ['Forbear-Patience', '-1s', /duration/],
  ['Forbear-Retry', 'no', /on or off/],
];
for (const [name, value, expected] of badHeaders) {
  test(`${name}: ${value.slice(0, 20)} is refused`, () => {
    const read = readHeaders([name, value]);
    assert.equal(read.kind, 'bad');
    assert.match(read.kind === 'bad' ? read.detail : '', expected);
  });
}

test('a header given twice is refused rather than half obeyed', () => {
  assert.equal(readHeaders(['Forbear-Session', 'a', 'forbear-session', 'b']).kind, 'bad');
});

test('a profile that is not configured is named, with the nearest that is', () => {
  assert.equal(unknownProfile({}, []), undefined);
  assert.equal(unknownProfile({ profile: 'fast' }, ['fast']), undefined);
  assert.match(
    unknownProfile({ profile: 'fats' }, ['slow', 'fast'])!,
    /no profile "fats". Did you mean fast\?/,
  );
  assert.match(unknownProfile({ profile: 'x' }, [])!, /no profile "x"\.$/);
});
