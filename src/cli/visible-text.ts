// Text of strangers on a terminal: what a committer or a client has written must neither move the cursor, nor change colours
// or titles, nor look like a line that Treeline has printed. Escapes are those of JSON, so that JSON stays the same value.

/** Control characters but for the tab and the line feed; separators of lines; marks that turn the direction of writing. */
const OBEYED = /[^\P{Cc}\t\n]|[\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
const HEX_DIGITS = 4;

/** Returns a text in which everything that a terminal obeys is escaped; line feeds stay. */
export function visible(text: string): string {
  return text.replace(OBEYED, escaped);
}

/** Returns a text as one line in which everything that a terminal obeys is escaped. */
export function visibleLine(text: string): string {
  return visible(text).replaceAll('\n', escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(HEX_DIGITS, '0')}`;
}
