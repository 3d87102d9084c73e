import { curlCommand } from './curl.ts';
import { bodyText, type FullLetter } from './full-letter.ts';
import { harOf } from './har.ts';
import { blankFields, blankUrl } from './secrets.ts';
import { letterView } from './view.ts';

/** The forms a letter can be taken away in. */
export type ExportFormat = 'jsonl' | 'curl' | 'har';

/** Writes letters out one by one, so that a million of them need no more memory than one. */
export async function* exported(
  letters: AsyncIterable<FullLetter> | Iterable<FullLetter>,
  { format, withSecrets }: { format: ExportFormat; withSecrets: boolean },
): AsyncGenerator<string> {
  if (format === 'har') {
    yield* harOf(withoutSecrets(letters, withSecrets));
    return;
  }
  for await (const full of withoutSecrets(letters, withSecrets)) {
    yield format === 'jsonl' ? jsonLine(full) : curlCommand(full);
  }
}

async function* withoutSecrets(
  letters: AsyncIterable<FullLetter> | Iterable<FullLetter>,
  withSecrets: boolean,
): AsyncGenerator<FullLetter> {
  for await (const full of letters) yield withSecrets ? full : blanked(full);
}

function blanked({ letter, body, response }: FullLetter): FullLetter {
  const rawHeaders = blankFields(letter.rawHeaders);
  const rawTrailers = blankFields(letter.rawTrailers);
  const url = blankUrl(letter.url);
  const changed = rawHeaders.changed || rawTrailers.changed || url.changed;
  const withoutCookies = <T extends { readonly rawHeaders: readonly string[] }>(reply: T): T => ({
    ...reply,
    rawHeaders: blankFields(reply.rawHeaders).value,
  });
  return {
    letter: {
      ...letter,
      ...{ rawHeaders: rawHeaders.value, rawTrailers: rawTrailers.value, url: url.value },
      secretsBlanked: letter.secretsBlanked || changed,
      // It is shown from here as well.
      response: letter.response && withoutCookies(letter.response),
    },
    body,
    response: response && withoutCookies(response),
  };
}

function jsonLine({ letter, body, response }: FullLetter): string {
  const line = {
    ...letterView(letter),
    request_body: body === undefined ? null : bodyText(body),
    response_body: response === undefined ? null : bodyText(response.body),
  };
  return `${JSON.stringify(line)}\n`;
}
