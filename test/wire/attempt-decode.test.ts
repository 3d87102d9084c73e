import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as zlib from 'node:zlib';
import fc from 'fast-check';
import { textOf } from '../../src/attempt/charset.ts';
import { decode } from '../../src/attempt/decode.ts';

const PAGE = Buffer.from(Array.from({ length: 3000 }, (_, i) => `<p>${i * 7919}</p>`).join(''));
const BOUNDS = { maxBytes: 1024 * 1024, whole: true };
const CODERS = {
  gzip: zlib.gzipSync,
  'x-gzip': zlib.gzipSync,
  deflate: zlib.deflateSync,
  br: (bytes: Buffer) =>
    zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 } }),
  zstd: zlib.zstdCompressSync,
} as const;

test('each coding is taken off, several in turn too', async () => {
  for (const [name, code] of Object.entries(CODERS)) {
    const { bytes, coding } = await decode(code(PAGE), name, BOUNDS);
    assert.deepEqual([coding, bytes.equals(PAGE)], ['ok', true], name);
  }
  const rows = [
    [zlib.deflateRawSync(PAGE), 'deflate'],
    [zlib.brotliCompressSync(zlib.gzipSync(PAGE)), 'GZip, BR'],
    [zlib.gzipSync(PAGE), 'identity, gzip'],
    [PAGE, 'identity'],
    [
      Buffer.concat([zlib.gzipSync(PAGE.subarray(0, 99)), zlib.gzipSync(PAGE.subarray(99))]),
      'gzip',
    ],
  ] as const;
  for (const [encoded, names] of rows) {
    const { bytes, coding } = await decode(encoded, names, BOUNDS);
    assert.deepEqual([coding, bytes.equals(PAGE)], ['ok', true], names);
  }
});

test('a coded stream without its end is cut short, though it is whole on the wire', async () => {
  for (const [name, code] of Object.entries(CODERS)) {
    const encoded = code(PAGE);
    const half = encoded.subarray(0, encoded.length / 2);
    const { coding } = await decode(half, name, BOUNDS);
    assert.equal(coding, 'cut_short', name);
  }
});

test('a part that is known to be a part reads as far as it goes', async () => {
  for (const [name, code] of Object.entries(CODERS)) {
    const encoded = code(PAGE);
    const half = encoded.subarray(0, encoded.length / 2);
    const { bytes, coding } = await decode(half, name, { ...BOUNDS, whole: false });
    assert.equal(coding, 'ok', name);
    assert.ok(PAGE.subarray(0, bytes.length).equals(bytes), name);
  }
});

test('a gzip body without its checksum, or with rubbish behind it, is taken', async () => {
  const named = Buffer.from(zlib.gzipSync(PAGE));
  const withName = Buffer.concat([
    named.subarray(0, 3),
    Buffer.from([8]),
    named.subarray(4, 10),
    Buffer.from('a.html\0'),
    named.subarray(10),
  ]);
  for (const encoded of [
    named.subarray(0, -8),
    named.subarray(0, -1),
    withName.subarray(0, -3),
    Buffer.concat([named, Buffer.from('rubbish')]),
  ]) {
    const { bytes, coding } = await decode(encoded, 'gzip', BOUNDS);
    assert.deepEqual([coding, bytes.equals(PAGE)], ['ok', true]);
  }
});

test('a plain body under a coded label is broken, and is read as it is', async () => {
  for (const name of ['gzip', 'br', 'zstd']) {
    const { bytes, coding } = await decode(Buffer.from('<html></html>'), name, BOUNDS);
    assert.deepEqual([coding, bytes.toString()], ['broken', '<html></html>'], name);
  }
});

test('an unknown coding is left on; an empty body has nothing to take off', async () => {
  assert.equal((await decode(PAGE, 'utf-8', BOUNDS)).coding, 'unknown');
  assert.equal((await decode(PAGE, 'gzip, gzip, gzip, gzip, gzip', BOUNDS)).coding, 'unknown');
  assert.deepEqual(await decode(Buffer.alloc(0), 'gzip', BOUNDS), {
    bytes: Buffer.alloc(0),
    coding: 'ok',
  });
});

test('a bomb is stopped at the bound and called one; a long page is only stopped', async () => {
  const zeros = Buffer.alloc(4 * 1024 * 1024);
  const bounds = { maxBytes: 256 * 1024, whole: true };
  for (const [name, code] of Object.entries(CODERS)) {
    const { bytes, coding } = await decode(code(zeros), name, bounds);
    assert.equal(coding, 'bomb', name);
    assert.ok(bytes.length <= bounds.maxBytes);
  }
  const layered = await decode(zlib.gzipSync(zlib.gzipSync(zeros)), 'gzip, gzip', bounds);
  assert.equal(layered.coding, 'bomb');
  const long = Buffer.from(Array.from({ length: 60_000 }, (_, i) => `<p>${i * 7919}</p>`).join(''));
  for (const [name, code] of Object.entries(CODERS)) {
    const { bytes, coding } = await decode(code(long), name, bounds);
    assert.deepEqual([coding, bytes.equals(long.subarray(0, bounds.maxBytes))], ['ok', true], name);
  }
});

test('no bytes under any label make it throw or run over its bound', async () => {
  const label = fc.constantFrom('gzip', 'deflate', 'br', 'zstd', 'br, gzip', '');
  const start = fc.constantFrom(
    '',
    '\x1f\x8b\x08\x00',
    '\x1f\x8b\x08\x1f',
    '\x78\x9c',
    '\x28\xb5\x2f\xfd',
  );
  await fc.assert(
    fc.asyncProperty(
      start,
      fc.uint8Array({ maxLength: 200 }),
      label,
      fc.boolean(),
      async (magic, tail, name, whole) => {
        const bytes = Buffer.concat([Buffer.from(magic, 'latin1'), tail]);
        const decoded = await decode(bytes, name, { maxBytes: 64, whole });
        return decoded.bytes.length <= 64;
      },
    ),
    { numRuns: 300 },
  );
});

test('text is read by mark, then by field, then by its own word, else as UTF-8', () => {
  const rows = [
    [Buffer.from('\ufeffé', 'utf8'), 'text/html; charset=iso-8859-1', 'é'],
    [Buffer.from('\ufeffé', 'utf16le'), undefined, 'é'],
    [Buffer.from('\xe9', 'latin1'), 'text/html; Charset="ISO-8859-1"', 'é'],
    [Buffer.from([0x93, 0xfa, 0x96, 0x7b]), 'text/html;charset=Shift_JIS', '日本'],
    [
      Buffer.from('<meta charset=windows-1251>\xcf', 'latin1'),
      'text/html',
      '<meta charset=windows-1251>П',
    ],
    [
      Buffer.from('<meta http-equiv=x content="text/html; charset=latin1">\xe9', 'latin1'),
      undefined,
      '<meta http-equiv=x content="text/html; charset=latin1">é',
    ],
    [
      Buffer.from('<?xml version="1.0" encoding="latin1"?>\xe9', 'latin1'),
      'text/xml',
      '<?xml version="1.0" encoding="latin1"?>é',
    ],
    [Buffer.from('<meta charset=utf-16>é'), 'text/html', '<meta charset=utf-16>é'],
    [Buffer.from('é'), 'text/html; charset=nonsense', 'é'],
    [Buffer.from('a\xff', 'latin1'), undefined, 'a\ufffd'],
  ] as const;
  for (const [bytes, contentType, text] of rows) assert.equal(textOf(bytes, contentType), text);
});
