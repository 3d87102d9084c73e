import * as z from 'zod';
import { statuses, whole } from './scalars.ts';
import { option, required } from './setting.ts';
import { headerName, text, word } from './texts.ts';

const marks = z.array(text);
const contains = z.string({ error: 'a text' });

const sign = z.strictObject({
  body: option(marks, "Texts in the page's source."),
  text: option(marks, 'Texts in the title or in what a reader sees.'),
  title: option(marks, 'Texts in the title.'),
  header: option(
    z.strictObject({
      name: required(headerName, 'A header name.'),
      has: option(contains, 'A text that its value contains; left out: any value.'),
    }),
    'A header of the reply.',
  ),
});

/** One of the user's own challenge, block and throttle pages, in the form of the built-in table. */
export const markerRow = z
  .strictObject({
    id: required(word, 'Names the page in logs and replies.'),
    kind: required(
      z.enum(['challenge', 'wall', 'block', 'throttle']),
      'challenge and wall ask for something first, block says no (all three: another route), throttle says less (the lane pauses).',
    ),
    headers: option(
      z.record(headerName, contains),
      'Header names with a text that the value contains (empty: the header is there); all must be there.',
    ),
    body: option(marks, "Texts in the page's source; all must be there."),
    signs: option(
      z.array(sign),
      'Signs, of which each must show; a sign shows when any of its texts is there.',
    ),
    proof: option(
      z.strictObject({
        header: required(headerName, 'A header name.'),
        words: option(marks, 'Any of these in its value; left out: any value.'),
      }),
      'A header that proves it alone, whatever the body is.',
    ),
    unless: option(marks, "Texts in the page's source that speak against it."),
    unless_path: option(marks, 'Texts in the path asked for that speak against it.'),
    max_text: option(
      whole({ min: 1 }),
      'Characters of readable text above which it is a page with a content of its own; 2000 if left out.',
    ),
    status: option(statuses, 'Statuses it is looked for under; all if left out.'),
  })
  .refine(
    ({ headers = {}, body = [], signs = [], proof }) =>
      proof !== undefined || Object.keys(headers).length + body.length + signs.length > 0,
    { error: 'headers, body, signs or proof to know it by' },
  );

export type MarkerInput = z.output<typeof markerRow>;
