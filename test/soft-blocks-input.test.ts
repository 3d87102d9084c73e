import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as zlib from 'node:zlib';
import fc from 'fast-check';
import { Incoming } from '../src/attempt/incoming.ts';
import { peek } from '../src/attempt/peek.ts';
import { classify } from '../src/core/classify.ts';
import type { Policy } from '../src/core/policy.ts';
import type { ResponseReply, Verdict } from '../src/core/verdict.ts';
import { createHeldMemory } from '../src/exchange/held-memory.ts';
import { judgeTools } from '../src/judge-tools.ts';
import { blocks } from './corpus/blocks.ts';
import { goodReplies } from './corpus/good.ts';
import { type CorpusReply, onTheWire } from './corpus/reply.ts';
import { Crawl } from './support/crawl.ts';
import { FakeClock } from './support/fake-clock.ts';
import { judge } from './support/judging.ts';
import { exchangeFor } from './support/playbook.ts';
import { policyWith } from './support/policy.ts';

const SLOW_MS = 2000;

/** Judges a reply as it comes off the wire, in these pieces. */
async function judged(
  sample: CorpusReply,
  chunks: readonly Buffer[] = [sample.body],
  policy: Policy = policyWith(),
): Promise<{ verdict: Verdict; reply: ResponseReply }> {
  const { path, status, rawHeaders } = sample;
  const clock = new FakeClock();
  const incoming = new Incoming({
    source: { pause() {}, resume() {}, abort() {} },
    clock,
    memory: createHeldMemory(() => 1e9),
    signal: new AbortController().signal,
    idleMs: 1000,
    keepBytes: 1,
    lingerMs: 1,
    length: undefined,
    onFirstRead: () => {},
  });
  const looking = peek(incoming, { status, rawHeaders }, exchangeFor({ policy, path }, 0));
  for (const chunk of chunks) incoming.data(chunk);
  incoming.end([]);
  const reply: ResponseReply = {
    kind: 'response',
    via: 'direct',
    status,
    rawHeaders,
    headMs: 1,
    body: await looking,
  };
  incoming.discard();
  const { request } = judge();
  const verdict = classify(
    reply,
    judge({ policy, tools: judgeTools, request: { ...request, path } }),
  );
  return { verdict, reply };
}

function split(bytes: Buffer, cuts: readonly number[]): readonly Buffer[] {
  const points = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...points].map((from, i) => bytes.subarray(from, points[i] ?? bytes.length));
}

async function timed<T>(work: () => Promise<T> | T): Promise<{ ms: number; result: T }> {
  const before = performance.now();
  const result = await work();
  return { ms: performance.now() - before, result };
}

describe('the verdict', () => {
  const samples = [...blocks().map(({ sample }) => sample), ...goodReplies()];

  test('is the same however the body comes in pieces', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...samples),
        fc.array(fc.nat(), { maxLength: 8 }),
        async (sample, cuts) => {
          const whole = await judged(sample);
          const pieces = await judged(sample, split(sample.body, cuts));
          assert.deepEqual(pieces.verdict, whole.verdict, sample.name);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('is the same in every coding and charset', async () => {
    const texts = [
      '<head><title>しばらくお待ちください...</title></head><script>_cf_chl_opt={}</script>',
      '<head><title>Zugriff</title></head>Ihre IP-Adresse: automatisierte Anfragen',
      '<head><title>Topf | Laden</title></head><p>Für Beete und Töpfe</p>',
    ];
    const charsets = [
      ['utf-8', 'header'],
      ['utf-8', 'mark'],
      ['utf-8', 'meta'],
      ['utf-16le', 'mark'],
      ['utf-16be', 'header'],
    ] as const;
    for (const [i, text] of texts.entries()) {
      const seen = new Set<string>();
      for (const coding of ['identity', 'gzip', 'deflate', 'br', 'zstd'] as const) {
        for (const [charset, told] of charsets) {
          const sample = onTheWire({ name: '', text, coding, charset, told });
          const { verdict } = await judged(sample);
          seen.add(`${verdict.fault}/${verdict.reason} ${JSON.stringify(verdict.evidence)}`);
        }
      }
      assert.equal(seen.size, 1, `${i}: ${[...seen]}`);
    }
  });
});

describe('bad input gets a verdict in little time', () => {
  const html = (text: string | Buffer, headers: readonly string[] = []): CorpusReply => ({
    name: 'bad',
    path: '/p/1',
    status: 200,
    rawHeaders: ['Content-Type', 'text/html', ...headers],
    body: Buffer.isBuffer(text) ? text : Buffer.from(text),
  });
  const challenge = '<title>Just a moment...</title><script>_cf_chl_opt={}</script>';
  const gzipped = ['Content-Encoding', 'gzip'];
  const rows: readonly [what: string, sample: CorpusReply, reason: string][] = [
    ['a bomb', html(zlib.gzipSync(Buffer.alloc(200e6)), gzipped), 'ok'],
    [
      'a challenge with a bomb behind it',
      html(zlib.gzipSync(challenge + ' '.repeat(100e6)), gzipped),
      'challenged',
    ],
    ['a challenge labelled gzip that is none', html(challenge, gzipped), 'challenged'],
    ['an empty body labelled gzip', html('', gzipped), 'ok'],
    [
      'rubbish labelled br',
      html(Buffer.from([1, 2, 3, 4]), ['Content-Encoding', 'br']),
      'truncated',
    ],
    ['many codings', html('x', ['Content-Encoding', 'gzip, br, gzip, br, gzip']), 'ok'],
    ['a huge page without a tag', html('word '.repeat(200_000)), 'ok'],
    ['a huge page without a space', html('x'.repeat(1_000_000)), 'ok'],
    ['a million open tags', html('<'.repeat(1_000_000)), 'ok'],
    ['a million scripts that do not end', html('<script>'.repeat(120_000)), 'ok'],
    ['a million comments that do not end', html('<!--'.repeat(250_000)), 'ok'],
    ['a title that does not end', html(`<title>${'a '.repeat(400_000)}`), 'ok'],
    ['white space', html(' '.repeat(1_000_000)), 'ok'],
    ['white space and a challenge', html(`${' '.repeat(20_000)}${challenge}`), 'challenged'],
    [
      'a page whose charset changes midway',
      html(
        Buffer.concat([
          Buffer.from('<p>Grüße '),
          Buffer.from('Grüße', 'latin1'),
          Buffer.from('Grüße', 'utf16le'),
        ]),
      ),
      'ok',
    ],
    [
      'a challenge, then another charset',
      html(Buffer.concat([Buffer.from(challenge), Buffer.from('Grüße', 'latin1')])),
      'challenged',
    ],
    [
      'deep data',
      { ...html('['.repeat(100_000)), rawHeaders: ['Content-Type', 'application/json'] },
      'ok',
    ],
  ];
  for (const [what, sample, reason] of rows) {
    test(what, async () => {
      const { ms, result } = await timed(async () => {
        const { verdict, reply } = await judged(sample);
        const crawl = new Crawl();
        for (let i = 0; i < 3; i++) crawl.step({ path: sample.path, reply });
        assert.ok(JSON.stringify(crawl.memory).length < 5000);
        return verdict;
      });
      assert.equal(result.reason, reason);
      assert.ok(ms < SLOW_MS, `${ms} ms`);
    });
  }

  test('patterns and selectors made to be slow', async () => {
    const text = `<ul>${'<li class="a">a</li>'.repeat(8000)}</ul>${'a'.repeat(50_000)}`;
    const expect: Policy['expect'] = [
      { when: {}, bodyMatches: '(a+)+$', otherwise: 'transient', label: 'pattern' },
      { when: {}, bodyMatches: '(.*)*z{50}', otherwise: 'transient', label: 'stars' },
      {
        when: {},
        css: { selector: 'li:not(.b) ~ li:not(.c)', min: 1 },
        otherwise: 'transient',
        label: 'selector',
      },
    ];
    const { ms, result } = await timed(() =>
      judged(html(text), [Buffer.from(text)], policyWith({ expect })),
    );
    assert.equal(result.verdict.reason, 'unexpected');
    assert.ok(ms < 5 * SLOW_MS, `${ms} ms`);
  });
});

describe('what is not inspected', () => {
  test('is not held: pictures, downloads and event streams stay unseen', async () => {
    for (const type of ['image/png', 'application/zip', 'text/event-stream', 'video/mp4']) {
      const body = Buffer.from('<title>Just a moment...</title>_cf_chl_opt');
      const sample = {
        name: '',
        path: '/x',
        status: 200,
        rawHeaders: ['Content-Type', type],
        body,
      };
      const { verdict, reply } = await judged(sample);
      assert.equal(reply.body.kind, 'unseen', type);
      assert.equal(verdict.reason, 'ok');
    }
  });
});
