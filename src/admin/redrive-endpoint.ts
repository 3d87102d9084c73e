import { type Answer, type Endpoint, json, problem } from './endpoint.ts';
import { IDS } from './letter-ids.ts';
import { record } from './schemas.ts';
import type { LetterChoice, LetterDesk, RedriveTold } from './views.ts';

/** Redrives under way by command. */
export class Redrives {
  running = 0;
}

const MOST_REDRIVES = 8;
/** A reader that is slower than the redrive does not hold it up; what it missed is in the sum. */
const MOST_UNREAD = 10_000;
const NDJSON = 'application/x-ndjson';

/** Sends letters again, and goes on with it whether or not somebody listens. */
export function redriveEndpoint(letters: LetterDesk, redrives: Redrives): Endpoint {
  return {
    method: 'POST',
    path: '/dead-letters/redrive',
    summary: `Begins to send letters again. With Accept: ${NDJSON} each letter's end is told in a line, and the sum in the last.`,
    body: {
      oneOf: [
        {
          type: 'object',
          properties: { ids: IDS, force: { type: 'boolean', default: false } },
          required: ['ids'],
          additionalProperties: false,
        },
        record({ due: { enum: [true] } }),
        record({ all: { enum: [true] } }),
      ],
    },
    answers: {
      202: {
        description: 'It has begun; events and the letters tell how it goes on.',
        schema: record({ state: { enum: ['started'] } }),
      },
      200: { description: 'Lines of JSON.', contentType: NDJSON },
    },
    handle: ({ body, headers }) => {
      if (redrives.running >= MOST_REDRIVES) {
        const detail = `${MOST_REDRIVES} redrives are under way already.`;
        return problem(503, 'too_many_redrives', detail, { 'Retry-After': '10' });
      }
      const lines = begin(choiceOf(body), letters, redrives);
      if (String(headers.accept ?? '').includes(NDJSON)) {
        return { kind: 'text', contentType: NDJSON, pieces: lines() };
      }
      return json({ state: 'started' }, 202) satisfies Answer;
    },
  };
}

function choiceOf(body: Readonly<Record<string, unknown>>): LetterChoice {
  if (body.ids) return { kind: 'ids', ids: body.ids as string[], force: body.force === true };
  return { kind: body.due === true ? 'due' : 'all' };
}

/** Starts at once; the lines may be read, or not. */
function begin(which: LetterChoice, letters: LetterDesk, redrives: Redrives) {
  const unread: RedriveTold[] = [];
  let wake = () => {};
  let end: string | undefined;
  redrives.running += 1;
  const told = (one: RedriveTold): void => {
    if (unread.length < MOST_UNREAD) unread.push(one);
    wake();
  };
  letters
    .redrive(which, told)
    .then(
      (summary) => ({ summary }),
      (error: unknown) => ({ failed: error instanceof Error ? error.message : String(error) }),
    )
    .then((last) => {
      redrives.running -= 1;
      end = `${JSON.stringify(last)}\n`;
      wake();
    });
  return async function* lines(): AsyncGenerator<string> {
    for (;;) {
      for (const one of unread.splice(0)) yield `${JSON.stringify(one)}\n`;
      if (unread.length > 0) continue;
      if (end !== undefined) return yield end;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
}
