import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { page, response } from '../../test/support/judging.ts';
import { MARKER_PAGES, type MarkerPage } from '../../test/support/marker-pages.ts';
import { type Asked, findMarker, weighMarkers } from './find-marker.ts';
import type { Marker } from './marker.ts';
import type { ResponseReply } from './verdict.ts';

const replyOf = ({ status, rawHeaders = [], html }: MarkerPage): ResponseReply =>
  page(html, { status, rawHeaders: [...rawHeaders, 'Content-Type', 'text/html'] });

describe('rows of the user', () => {
  const OWN: Marker = {
    id: 'own-wall',
    kind: 'wall',
    signs: [
      { header: ['x-guard', ''] },
      { body: ['guard.js'] },
      { title: ['stop'], text: ['halt'] },
    ],
    unless: ['id="shop"'],
    unlessPath: ['/guard'],
    maxText: 5000,
    statuses: [200],
  };
  const asked = (path: string, ...markers: Marker[]): Asked => ({ path, markers });
  const html = '<title>Stop</title><script src="/guard.js"></script>';
  const rawHeaders = ['Content-Type', 'text/html', 'X-Guard', '1'];
  const found = (text: string, where = asked('/p', OWN), change: Partial<ResponseReply> = {}) =>
    findMarker(page(text, { rawHeaders, ...change }), where)?.marker.id;

  test('need all of their signs', () => {
    assert.equal(found(html), 'own-wall');
    assert.equal(found(html.replace('Stop', 'Go')), undefined);
    assert.equal(found(`${html.replace('Stop', 'Go')}Halt!`), 'own-wall');
    assert.equal(found(html.replace('guard.js', 'x.js')), undefined);
    assert.equal(
      found(html, asked('/p', OWN), { rawHeaders: ['Content-Type', 'text/html'] }),
      undefined,
    );
  });
  test('are spoken against by the page, the path, the status and the text', () => {
    assert.equal(found(`${html}<p id="shop">`), undefined);
    assert.equal(found(html, asked('/Guard/test?x', OWN)), undefined);
    assert.equal(found(html, asked('/p?to=/guard', OWN)), 'own-wall');
    assert.equal(found(html, asked('/p', OWN), { status: 403 }), undefined);
    assert.equal(found(html + 'x'.repeat(4000)), 'own-wall');
    assert.equal(found(html + 'x'.repeat(5001)), undefined);
  });
  test('leave the limits of the built-in rows as they are', () => {
    const [sample] = MARKER_PAGES;
    assert.ok(sample);
    const long = replyOf({ ...sample, html: sample.html + 'x'.repeat(3000) });
    assert.equal(findMarker(long, asked('/p', OWN)), undefined);
  });
  test('come before the built-in rows, by proof and by signs', () => {
    const [sample] = MARKER_PAGES;
    assert.ok(sample);
    const any: Marker = { id: 'own', kind: 'block', signs: [{ body: ['just a moment'] }] };
    assert.equal(findMarker(replyOf(sample), asked('/p', any))?.marker.id, 'own');
    const proof = { header: 'cf-mitigated', words: [''] };
    const proven: Marker = { id: 'own', kind: 'block', signs: [], proof };
    const reply = response({ rawHeaders: ['CF-Mitigated', 'challenge'] });
    assert.equal(findMarker(reply, asked('/p', proven))?.marker.id, 'own');
  });
});

describe('weighed', () => {
  const NOWHERE: Asked = { path: '/p', markers: [] };

  test('what holds comes first, then what is nearest to it', () => {
    const [sample] = MARKER_PAGES;
    assert.ok(sample);
    const [first, ...others] = weighMarkers(replyOf(sample), NOWHERE);
    assert.equal(first?.marker.id, sample.id);
    assert.deepEqual([first?.score, first?.holds, first?.against], [1, true, []]);
    assert.ok(others.every(({ holds }) => !holds));
  });
  test('what speaks against it is told', () => {
    const html = 'Not a robot? <input type="email"><div class="g-recaptcha"></div>';
    const gate = weighMarkers(page(html), NOWHERE).find(
      ({ marker }) => marker.id === 'captcha-gate',
    );
    assert.deepEqual([gate?.score, gate?.holds], [1, false]);
    assert.deepEqual(gate?.against, ['type="email"']);
    const login = '<h1>Log in to continue</h1><input type="password">';
    const wall = weighMarkers(page(login), { path: '/login', markers: [] })[0];
    assert.equal(wall?.marker.id, 'login-wall');
    assert.deepEqual(wall?.against, ['asked for login']);
    const long = weighMarkers(page(`${login}${'x'.repeat(700)}`), NOWHERE)[0];
    assert.equal(long?.against.length, 1);
  });
  test('a proof is weighed without a body', () => {
    const reply = response({ rawHeaders: ['CF-Mitigated', 'challenge'], body: { kind: 'none' } });
    const [only, ...others] = weighMarkers(reply, NOWHERE);
    assert.deepEqual(
      [only?.marker.id, only?.holds, others.length],
      ['cloudflare-challenge', true, 0],
    );
  });
  test('of a plain page nothing is', () => {
    assert.deepEqual(weighMarkers(page('<h1>Pots</h1>'), NOWHERE), []);
  });
});
