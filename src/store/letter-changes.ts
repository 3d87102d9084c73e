import type {
  Letter,
  LetterNeed,
  LetterState,
  NewLetter,
  NewResponse,
  Settlement,
} from './letter.ts';
import { MAX_TRAIL } from './letter.ts';

/** The states in which a letter still stands for its request. */
export const OPEN_STATES: readonly LetterState[] = ['parked', 'redriving', 'needs_client'];

/** A letter on its first day. */
export function firstParked(letter: NewLetter, body: Letter['body']): Letter {
  return {
    ...letter,
    updatedAt: letter.parkedAt,
    body,
    redrives: 0,
    attempts: letter.attempts.slice(-MAX_TRAIL),
    response: undefined,
  };
}

/** An open letter after the same request was parked again: the newest request replaces the older one. */
export function parkedAgain(open: Letter, newer: NewLetter, body: Letter['body']): Letter {
  return {
    ...firstParked(newer, body),
    id: open.id,
    key: open.key,
    state: open.state === 'redriving' ? 'redriving' : newer.state,
    count: newer.id === open.id ? Math.max(open.count, newer.count) : open.count + newer.count,
    parkedAt: open.parkedAt,
    redrives: open.redrives,
  };
}

/** A letter that is under redrive from now on. */
export function claimed(letter: Letter, at: number, afterCrash: LetterNeed | undefined): Letter {
  return {
    ...letter,
    state: 'redriving',
    updatedAt: at,
    ...(afterCrash && { needs: afterCrash }),
  };
}

/** A letter under redrive once that has ended. */
export function settledAs(letter: Letter, outcome: Settlement): Letter {
  const settled = {
    ...letter,
    ...outcome.why,
    state: outcome.to,
    updatedAt: outcome.at,
    keepUntil: outcome.keepUntil ?? letter.keepUntil,
    attempts: [...letter.attempts, ...outcome.attempts].slice(-MAX_TRAIL),
    ...(letter.needs && { needs: undefined }),
  };
  switch (outcome.to) {
    case 'parked':
      return {
        ...settled,
        dueAt: outcome.dueAt,
        redrives: letter.redrives + (outcome.unsent ? 0 : 1),
      };
    case 'done':
      return { ...settled, response: outcome.response && metaOf(outcome.response) };
    case 'expired':
      return settled;
    case 'needs_client':
      return { ...settled, ...(outcome.needs && { needs: outcome.needs }) };
  }
}

/** The part of a reply's body that is stored. */
export function storedPart({ body, capBytes }: NewResponse): Uint8Array {
  return body.subarray(0, Math.max(0, capBytes));
}

function metaOf(response: NewResponse): Letter['response'] {
  const bytes = storedPart(response).byteLength;
  return {
    status: response.status,
    reason: response.reason,
    rawHeaders: response.rawHeaders,
    bytes,
    truncated: response.truncated || bytes < response.body.byteLength,
    at: response.at,
  };
}
