import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ask } from '../support/admin.ts';
import { adminDesk } from '../support/admin-desk.ts';

const folder = join(import.meta.dirname, '../../src/admin/dashboard');
const files = readdirSync(folder).filter((name) => /\.(js|css|html|svg)$/.test(name));
const read = (name: string) => readFileSync(join(folder, name), 'utf8');

test('every file of the dashboard is served, and none of its sources that are not for the browser', async (t) => {
  const { port } = await adminDesk(t);
  for (const name of files) {
    const path = name === 'index.html' ? '/' : `/${name}`;
    const { status, headers, text } = await ask(port, 'GET', path);
    assert.equal(status, 200, path);
    assert.equal(text, read(name));
    assert.match(String(headers['content-security-policy']), /default-src 'none'/);
    assert.match(String(headers['content-security-policy']), /script-src 'self';/);
    const again = await ask(port, 'GET', path, {
      headers: { 'If-None-Match': String(headers.etag) },
    });
    assert.equal(again.status, 304, path);
  }
  for (const path of ['/shapes.d.ts', '/tsconfig.json', '/../server.ts', '/index.html/']) {
    assert.equal((await ask(port, 'GET', path)).status, 404, path);
  }
});

test('no script of the dashboard makes markup or code of a text', () => {
  const ways =
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|setHTML|srcdoc|\beval\b|new Function|javascript:/;
  for (const name of files.filter((file) => file.endsWith('.js'))) {
    assert.doesNotMatch(read(name), ways, name);
  }
});

test('everything that a file of the dashboard names is among them, and nothing is inline or from elsewhere', () => {
  for (const name of files) {
    const text = read(name);
    const named = [
      ...text.matchAll(/(?:from|import) '\.\/([^']+\.js)'/g),
      ...text.matchAll(/(?:href|src)="\/([^"]+)"/g),
    ];
    for (const [, file = ''] of named) assert.ok(files.includes(file), `${name} names ${file}`);
    assert.doesNotMatch(
      text.replaceAll('http://www.w3.org/2000/svg', ''),
      /https?:\/\/|url\(/,
      name,
    );
  }
  assert.doesNotMatch(read('index.html'), / on\w+=| style=|<style|<script(?![^>]* src=)/);
});

test('all modules are fetched at once, not one after the other as they name each other', () => {
  const page = read('index.html');
  for (const name of files.filter((file) => file.endsWith('.js'))) {
    assert.match(page, new RegExp(`<(script src|link rel="modulepreload" href)="/${name}"`), name);
  }
});
