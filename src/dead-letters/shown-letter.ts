import type { Letter } from '../store/letter.ts';
import { blankFields, blankUrl } from './secrets.ts';
import { type LetterView, letterView } from './view.ts';

/** A letter for display: its credentials are blanked, and whether they are kept is told as it is. */
export function shownLetter(letter: Letter): LetterView {
  const { response, rawHeaders, rawTrailers, url } = letter;
  return letterView({
    ...letter,
    url: blankUrl(url).value,
    rawHeaders: blankFields(rawHeaders).value,
    rawTrailers: blankFields(rawTrailers).value,
    response: response && { ...response, rawHeaders: blankFields(response.rawHeaders).value },
  });
}
