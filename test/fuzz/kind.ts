import type { Dice } from './dice.ts';

/** What an oracle found wrong. Inputs with the same `rule` fail for the same cause, as far as one can tell. */
export interface Complaint {
  readonly rule: string;
  readonly detail: string;
}

/** One kind of input. Cases are plain JSON (bytes as latin1 text), so that they can be kept, replayed and made smaller. */
export interface Kind<Case = unknown> {
  readonly name: string;
  make(dice: Dice): Case;
  /** Sets up what cases of this kind are played against. */
  open(): Promise<Bench<Case>>;
}

/** Where cases are played. */
export interface Bench<Case = unknown> {
  /** Plays a case against its oracle. */
  play(one: Case): Promise<Complaint | undefined> | Complaint | undefined;
  /** Checks that nothing is left of the cases so far. */
  settle(): Promise<Complaint | undefined>;
  close(): Promise<Complaint | undefined>;
}

/** A bench for what needs no world: plain functions. */
export function pureBench<Case>(
  play: (one: Case) => Promise<Complaint | undefined> | Complaint | undefined,
): Promise<Bench<Case>> {
  return Promise.resolve({
    play,
    settle: () => Promise.resolve(undefined),
    close: () => Promise.resolve(undefined),
  });
}

/** The first complaint of some checks. */
export function firstOf(...checks: readonly (Complaint | undefined)[]): Complaint | undefined {
  return checks.find((check) => check !== undefined);
}

/** A complaint when something does not hold. */
export function unless(holds: boolean, rule: string, detail: () => string): Complaint | undefined {
  return holds ? undefined : { rule, detail: detail() };
}

/** Bytes for a sentence: on one line, and not too long. */
export const shown = (text: string): string => JSON.stringify(text.slice(0, 600));
