import assert from 'node:assert/strict';
import test from 'node:test';
import { blankSecrets } from './blank-secrets.ts';
import { loadConfig } from './load.ts';

test('no secret of any kind is left in the copy for display', () => {
  const text = `
admin: { token: hunter1 }
clients: [{ name: visible, password: hunter2 }]
upstreams:
  - { name: gw, gateway: "http://hunter3:hunter4@gw.test:1", headers: { X-Key: hunter5 } }
  - { name: list, routes: ["http://hunter6:hunter7@l.test:1"] }
  - { name: p, provider: shifter, account: hunter8, password: hunter9, country: us }
early_warning: { webhook: "https://hooks.test/services/hunter12" }
policy: { probe: { url: "https://hunter10:hunter11@o.test/", expect: Sign out } }
`;
  const loaded = loadConfig({ file: undefined, text, env: {}, flags: {} });
  assert.ok(loaded.kind === 'ok');
  const shown = JSON.stringify(blankSecrets(loaded.config));
  assert.doesNotMatch(shown, /hunter/);
  for (const kept of [
    'visible',
    'gw.test',
    'l.test',
    'p.shifter.io',
    '"country":"us"',
    'o.test',
    'Sign out',
  ]) {
    assert.ok(shown.includes(kept), kept);
  }
});
