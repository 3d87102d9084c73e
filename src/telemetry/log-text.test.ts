import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cleanFields } from './log-text.ts';

test('fields with the names of secrets are left out at any depth, in any case', () => {
  const fields = {
    client: { address: '127.0.0.1', Authorization: 'Basic x' },
    forbear: { route: { way: { password: 'x' }, label: 'direct' }, proxyAuthorization: 'x' },
    'Set-Cookie': 'a=b',
    rawHeaders: ['Cookie', 'a=b'],
  };
  assert.deepEqual(cleanFields(fields), {
    client: { address: '127.0.0.1' },
    forbear: { route: { label: 'direct' } },
  });
});
