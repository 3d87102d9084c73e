import type { Dice } from './dice.ts';

const TOKENS = [
  '\r\n',
  '\n',
  '\r',
  '\r\n\r\n',
  '\0',
  ' ',
  '\t',
  '\x0b',
  '\x7f',
  '\xa0',
  '\xff',
  ':',
  ';',
  ',',
  '"',
  '0\r\n\r\n',
  '0',
  '1',
  '-1',
  '+5',
  '0x5',
  '99999999999999999999',
  'ffffffffffffffff',
  'chunked',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: gzip, chunked\r\n',
  'Content-Length: 0\r\n',
  'Content-Length: 3\r\n',
  'Connection: close\r\n',
  'Connection: keep-alive, content-length\r\n',
  'X: ',
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/2.0',
];

/** Changes a text in up to four places: bytes cut out, doubled, turned over, or put in. */
export function mutated(text: string, dice: Dice, tokens: readonly string[] = TOKENS): string {
  let out = text;
  for (let left = dice.between(1, 4); left > 0; left -= 1) out = changed(out, dice, tokens);
  return out;
}

function changed(text: string, dice: Dice, tokens: readonly string[]): string {
  const at = dice.between(0, text.length);
  const to = Math.min(text.length, at + dice.between(1, dice.oneIn(4) ? 40 : 4));
  switch (dice.below(6)) {
    case 0:
      return text.slice(0, at) + text.slice(to);
    case 1:
      return text.slice(0, to) + text.slice(at);
    case 2: {
      const flipped = String.fromCharCode((text.charCodeAt(at) || 0) ^ (1 << dice.below(8)));
      return text.slice(0, at) + flipped + text.slice(at + 1);
    }
    case 3:
      return text.slice(0, at) + dice.bytes(dice.between(1, 3)) + text.slice(at);
    case 4:
      return text.slice(0, at) + dice.pick(tokens) + text.slice(to);
    default:
      return text.slice(0, at) + dice.pick(tokens) + text.slice(at);
  }
}

/** Cuts a text at up to `most` places. */
export function pieces(text: string, dice: Dice, most = 5): string[] {
  const cuts = [0, ...dice.some(most, () => dice.between(0, text.length)), text.length];
  cuts.sort((a, b) => a - b);
  return cuts
    .slice(1)
    .map((cut, i) => text.slice(cuts[i], cut))
    .filter((piece) => piece !== '');
}
