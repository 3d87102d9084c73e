import fc, { type Arbitrary, type Parameters } from 'fast-check';

/** How often a model is checked: `usual` times in every test run, and for longer under FUZZ_SECONDS, shared by all models. */
export function runs(usual: number): Parameters<unknown> {
  const seconds = Number(process.env.FUZZ_SECONDS ?? 0);
  const seed = process.env.FUZZ_SEED;
  const fixed = seed === undefined ? {} : { seed: Number(seed) };
  if (seconds <= 0) return { numRuns: usual, ...fixed };
  const interruptAfterTimeLimit = (seconds * 1000) / MODELS;
  return { numRuns: 1_000_000, interruptAfterTimeLimit, ...fixed };
}

/** What happens, step by step: up to `most` of them, where the library alone would stay at about ten. */
export function schedule<Step>(step: Arbitrary<Step>, most: number): Arbitrary<Step[]> {
  return fc.array(step, { maxLength: most, size: 'max' });
}

const MODELS = 8;
