// Makes text of programs and services safe for logs, rows and terminals.

/**
 * Returns a text without control characters other than line feeds, halves of surrogate pairs and surrounding space; truncated
 * at its end.
 */
export function plainText(text: string, lengthMax: number): string {
  const plain = text
    .replaceAll(/\r\n?/g, '\n')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
    .replaceAll(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, ' ')
    .trim();
  return (plain.length <= lengthMax ? plain : `${plain.slice(0, lengthMax)}…`).toWellFormed();
}
