// Measures how many columns of a terminal a text takes. Knows nothing about colours and control characters: output.ts
// escapes those first.

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f|\p{Regional_Indicator}{2}/u;
/** Marks without a character of their own, and characters that only join or separate others. */
const NO_WIDTH = /^[\p{M}\p{Cf}\u200b\ufeff]*$/u;

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** A character as a reader sees it, with the marks that belong to it. */
export interface Grapheme {
  readonly text: string;
  /** In UTF-16 units, from the beginning of the text. */
  readonly offset: number;
}

/** Returns the graphemes of a text in order. */
export function graphemesOf(text: string): readonly Grapheme[] {
  return Array.from(segmenter.segment(text), ({ segment, index }) => ({ text: segment, offset: index }));
}

/** Returns the columns that one grapheme takes: 0, 1 or 2. */
export function graphemeWidth(text: string): number {
  if (NO_WIDTH.test(text)) return 0;
  return WIDE.test(text) ? 2 : 1;
}
