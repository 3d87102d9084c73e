import type { Ledger } from '../core/action.ts';
import type { Admission, Choice, Exchange, Lane, Route, Routes } from './ports.ts';

type Admitted = Extract<Admission, { kind: 'admitted' }>;
type Denied = Extract<Admission, { kind: 'refused' }> | Extract<Choice, { kind: 'none' }>;

/** An attempt's place in its lane, held until its body has ended. */
export interface Place {
  readonly admission: Admitted;
  release(): void;
  /** Takes a new place for the free replay of a request, so that no pause is broken by it. */
  again(): Promise<boolean>;
}

export type Start =
  | { readonly kind: 'yes'; readonly place: Place; readonly route: Route }
  | { readonly kind: 'no'; readonly why: Denied };

/** Waits for the lane's word, then asks which way. A place that cannot be used is given back. */
export async function placeFor(
  exchange: Exchange,
  lane: Lane,
  routes: Routes,
  ledger: Ledger,
): Promise<Start> {
  const admission = await lane.admit(exchange);
  if (admission.kind === 'refused') return { kind: 'no', why: admission };
  const choice = routes.choose(exchange, lane.id, ledger);
  if (choice.kind === 'none') {
    admission.release();
    return { kind: 'no', why: choice };
  }
  return { kind: 'yes', place: placeIn(lane, exchange, admission), route: choice.route };
}

function placeIn(lane: Lane, exchange: Exchange, first: Admitted): Place {
  let admission = first;
  const release = () => admission.release();
  return {
    get admission() {
      return admission;
    },
    release,
    again: async () => {
      release();
      const next = await lane.admit(exchange);
      if (next.kind === 'admitted') admission = next;
      return next.kind === 'admitted';
    },
  };
}
