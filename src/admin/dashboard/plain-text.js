/**
 * Control characters, and those that turn the direction of text or cannot be seen: a name must not look like another.
 */
const UNSEEN =
  /[\p{Cc}\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]|\p{Cs}/gu;

/**
 * Text of sites and clients as it may be shown: what cannot be seen is written out as in <U+202E>, and what is longer
 * than anybody reads is cut.
 * @param {string} text
 */
export function visible(text, most = 2_000) {
  const cut = text.length > most ? `${text.slice(0, most)}…` : text;
  return cut.replace(
    UNSEEN,
    (char) => `<U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`,
  );
}

/**
 * The same for a place where there is little room.
 * @param {string} text
 */
export const brief = (text, most = 300) => visible(text, most);
