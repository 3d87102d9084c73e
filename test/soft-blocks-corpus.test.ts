import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { classify } from '../src/core/classify.ts';
import { judgeTools } from '../src/judge-tools.ts';
import { blocks } from './corpus/blocks.ts';
import { goodReplies } from './corpus/good.ts';
import { type CorpusResult, measureCorpus } from './corpus/measure.ts';
import { onTheWire, replyOf } from './corpus/reply.ts';
import { judge } from './support/judging.ts';

describe('the corpus', () => {
  let result: CorpusResult;
  before(async () => {
    result = await measureCorpus();
  });

  test('has enough of both kinds, each reply once, and is small', () => {
    assert.ok(result.good >= 150, `${result.good} good ones`);
    assert.ok(result.blocks >= 150, `${result.blocks} blocks`);
    assert.ok(result.bytes < 2 * 1024 * 1024);
    const names = [...blocks().map(({ sample }) => sample), ...goodReplies()].map(
      ({ name }) => name,
    );
    assert.equal(new Set(names).size, names.length);
  });

  test('has no good reply that is taken for a block', () => {
    assert.deepEqual(result.falseAlarms, []);
  });

  test('has at least 95 of 100 blocks known as what they are', () => {
    const missed = result.makers.flatMap((maker) => maker.missed);
    assert.ok(result.found / result.blocks >= 0.95, missed.join('\n'));
  });

  test('has blocks of every maker known', () => {
    for (const { maker, found } of result.makers) assert.ok(found > 0, maker);
  });
});

test('good replies of the corpus under a good status are delivered, blocks are not', async () => {
  for (const sample of goodReplies()) {
    if (sample.status !== 200) continue;
    const reply = await replyOf(sample);
    const { fault } = classify(reply, judgeFor(sample.path));
    assert.equal(fault, 'none', sample.name);
  }
  const faults = { route: 0, host: 0, none: 0 };
  for (const { sample, kind } of blocks()) {
    const verdict = classify(await replyOf(sample), judgeFor(sample.path));
    if (verdict.fault === kind || (kind === 'rate' && verdict.reason === 'rate_limited')) {
      faults[verdict.fault === 'route' ? 'route' : 'host'] += 1;
    } else faults.none += 1;
  }
  assert.ok(faults.none / (faults.route + faults.host) < 0.05, JSON.stringify(faults));
});

test('a login wall is one only where no login was asked for', async () => {
  const text =
    '<title>Sign in</title><h1>Sign in to continue</h1><form><input type="password"></form>';
  const verdictAt = async (path: string) =>
    classify(await replyOf(onTheWire({ name: path, path, text })), judgeFor(path)).reason;
  assert.equal(await verdictAt('/jobs/view/123'), 'challenged');
  for (const path of ['/', '/login', '/users/sign_in?to=/jobs', '/account', '/SSO/start']) {
    assert.equal(await verdictAt(path), 'ok', path);
  }
});

function judgeFor(path: string) {
  const { request } = judge();
  return judge({ tools: judgeTools, request: { ...request, path } });
}
