/** Where a dead letter stands: open (`parked`, `redriving`, `needs_client`), or over (`done`, `expired`). */
export type LetterState = 'parked' | 'redriving' | 'done' | 'expired' | 'needs_client';

/** An exchange that ended badly, kept to be sent again. Times are epoch ms; header text is latin1, one char per byte. */
export interface Letter {
  readonly id: string;
  /** What makes two requests the same (method, URL, body, session): at most one open letter has it. */
  readonly key: string;
  readonly state: LetterState;
  /** How many requests it stands for. */
  readonly count: number;
  readonly lane: string;
  readonly host: string;
  /** Verdict's reason, or the stop where there was no verdict: a word of the version that parked it. */
  readonly reason: string;
  readonly stop: string | undefined;
  readonly fault: string | undefined;
  /** The client's name. */
  readonly client: string;
  readonly session: string | undefined;
  readonly method: string;
  readonly url: string;
  /** Names and values in turn, as the client sent them. */
  readonly rawHeaders: readonly string[];
  readonly rawTrailers: readonly string[];
  /** What else the client had asked for (country, profile, expected text …), for the redrive. */
  readonly wishes: Readonly<Record<string, string>>;
  /** As far as it is known: what was sent, or would have been. */
  readonly bodyBytes: number;
  /** Whether the whole body is here; without it only the client can send the request again. */
  readonly body: 'kept' | 'lost';
  /** Whether credentials were taken out of the header fields. */
  readonly secretsBlanked: boolean;
  /** Why only the client can send it again, or allow that; absent where nothing is in the way. */
  readonly needs?: LetterNeed | undefined;
  /** When it was parked first; lists are ordered by it. */
  readonly parkedAt: number;
  readonly updatedAt: number;
  /** Not to be redriven before. */
  readonly dueAt: number;
  /** Removed by `sweep` after. */
  readonly keepUntil: number;
  /** Redrives that ended with the letter parked again. */
  readonly redrives: number;
  /** The trail: of the newest request, then of its redrives; the newest `MAX_TRAIL` are kept. */
  readonly attempts: readonly LetterAttempt[];
  /** What a redrive brought, once it is `done`. */
  readonly response: ResponseMeta | undefined;
}

/** What a letter that `needs_client` needs. */
export type LetterNeed =
  /** The body was not kept whole. */
  | 'body'
  /** Its credentials were taken out when it was parked. */
  | 'secrets'
  /** It may have been executed already: sending it again has to be allowed. */
  | 'consent'
  /** Its session has ended, and it may go out in no other. */
  | 'session'
  /** The site does not accept its credentials any more. */
  | 'credentials';

/** One try, as told to whoever looks at the letter. */
export interface LetterAttempt {
  /** 1-based. */
  readonly n: number;
  /** The route's label; never holds a credential. */
  readonly route: string;
  readonly fault: string;
  readonly reason: string;
  /** The kind of action that followed. */
  readonly action: string;
  /** The explain sentence. */
  readonly sentence: string;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly at: number;
  readonly durationMs: number;
  /** Absent where there was no reply. */
  readonly status: number | undefined;
}

/** A stored reply, less its body. */
export interface ResponseMeta {
  readonly status: number;
  /** The reason phrase, latin1. */
  readonly reason: string;
  readonly rawHeaders: readonly string[];
  /** Bytes of the body that are stored. */
  readonly bytes: number;
  /** Whether the body was longer than that. */
  readonly truncated: boolean;
  readonly at: number;
}

/** A letter as its parker hands it in; the store adds what it alone knows. */
export interface NewLetter
  extends Omit<
    Letter,
    'state' | 'count' | 'updatedAt' | 'body' | 'redrives' | 'response' | 'parkedAt'
  > {
  readonly state: 'parked' | 'needs_client';
  /** Requests it stands for: 1, and more when a letter that waited in memory is written. */
  readonly count: number;
  /** Now. An open letter with the same key keeps its own, and is `updatedAt` this. */
  readonly parkedAt: number;
}

/** How a redrive ended. */
export type Settlement = SettlementBase &
  (
    | { readonly to: 'done'; readonly response: NewResponse | undefined }
    /** Not this time: `redrives` goes up by one, unless nothing was sent. */
    | { readonly to: 'parked'; readonly dueAt: number; readonly unsent?: true }
    | { readonly to: 'expired' }
    | { readonly to: 'needs_client'; readonly needs?: LetterNeed }
  );

interface SettlementBase {
  /** Now. */
  readonly at: number;
  /** The redrive's own tries, added to the trail. */
  readonly attempts: readonly LetterAttempt[];
  /** The newest judgement; undefined leaves the letter's as it was. */
  readonly why:
    | Readonly<{ reason: string; stop: string | undefined; fault: string | undefined }>
    | undefined;
  /** A new end of its keeping; undefined leaves it as it was. */
  readonly keepUntil: number | undefined;
}

/** A reply to store with its letter. */
export interface NewResponse {
  readonly status: number;
  readonly reason: string;
  readonly rawHeaders: readonly string[];
  readonly body: Uint8Array;
  /** Whether the body is known to be cut already. */
  readonly truncated: boolean;
  /** No more of the body than this is stored. */
  readonly capBytes: number;
  readonly at: number;
}

/** Tries a letter remembers. */
export const MAX_TRAIL = 100;
