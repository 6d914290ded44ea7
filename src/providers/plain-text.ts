// Makes text of programs and services safe for logs, rows and terminals.
import { OBEYED } from '../base/wording.ts';

/**
 * Returns a text without characters that a terminal obeys other than line feeds, without halves of surrogate pairs and
 * surrounding space; truncated at its end.
 */
export function plainText(text: string, lengthMax: number): string {
  const plain = text.replaceAll(/\r\n?/g, '\n').replaceAll('\t', ' ').replaceAll(OBEYED, ' ').trim();
  return (plain.length <= lengthMax ? plain : `${plain.slice(0, lengthMax)}…`).toWellFormed();
}
