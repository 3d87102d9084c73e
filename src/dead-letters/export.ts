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
  const url = blankUrl(letter.url);
  const secretsBlanked = letter.secretsBlanked || rawHeaders.changed || url.changed;
  return {
    letter: { ...letter, rawHeaders: rawHeaders.value, url: url.value, secretsBlanked },
    body,
    response: response && { ...response, rawHeaders: blankFields(response.rawHeaders).value },
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
