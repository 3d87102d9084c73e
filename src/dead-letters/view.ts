import type { Letter } from '../store/letter.ts';

/** A letter as the admin API, the command line and exports show it. Times are ISO 8601, header text latin1. */
export type LetterView = ReturnType<typeof letterView>;

/** Puts a letter into the form in which it is shown. */
export function letterView(letter: Letter) {
  return {
    id: letter.id,
    state: letter.state,
    lane: letter.lane,
    host: letter.host,
    reason: letter.reason,
    stop: letter.stop ?? null,
    fault: letter.fault ?? null,
    count: letter.count,
    client: letter.client,
    session: letter.session ?? null,
    method: letter.method,
    url: letter.url,
    headers: pairs(letter.rawHeaders),
    trailers: pairs(letter.rawTrailers),
    body: { kept: letter.body === 'kept', bytes: letter.bodyBytes },
    secrets_blanked: letter.secretsBlanked,
    needs: letter.needs ?? null,
    parked_at: iso(letter.parkedAt),
    updated_at: iso(letter.updatedAt),
    due_at: iso(letter.dueAt),
    keep_until: iso(letter.keepUntil),
    redrives: letter.redrives,
    attempts: letter.attempts.map((attempt) => ({
      n: attempt.n,
      at: iso(attempt.at),
      duration_ms: Math.round(attempt.durationMs),
      route: attempt.route,
      status: attempt.status ?? null,
      verdict: `${attempt.fault}/${attempt.reason}`,
      action: attempt.action,
      explain: attempt.sentence,
      sent_bytes: attempt.sentBytes,
      received_bytes: attempt.receivedBytes,
    })),
    response: letter.response
      ? {
          status: letter.response.status,
          reason: letter.response.reason,
          headers: pairs(letter.response.rawHeaders),
          bytes: letter.response.bytes,
          truncated: letter.response.truncated,
          at: iso(letter.response.at),
        }
      : null,
  };
}

function iso(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? new Date(MAX_DATE_MS).toISOString() : date.toISOString();
}

const MAX_DATE_MS = 8.64e15;

function pairs(raw: readonly string[]): [name: string, value: string][] {
  const out: [string, string][] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) out.push([raw[i] ?? '', raw[i + 1] ?? '']);
  return out;
}
