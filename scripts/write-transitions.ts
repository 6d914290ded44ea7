// Writes the table of transitions into ARCHITECTURE.md, between its two markers: `npm run docs:transitions`, after a
// change of src/machine/transitions.ts. A test fails where the two differ.
import { readFileSync, writeFileSync } from 'node:fs';
import { renderTransitions } from '../src/machine/render-transitions.ts';

const BEGIN = '<!-- transitions -->';
const END = '<!-- /transitions -->';

/** Returns a document with the table of now between its markers. Throws where it has not both, in that order. */
export function withTransitions(document: string): string {
  const begin = document.indexOf(BEGIN);
  const end = document.indexOf(END, begin);
  if (begin === -1 || end === -1) throw new Error(`the document needs a line ${BEGIN} and below it a line ${END}`);
  return `${document.slice(0, begin)}${BEGIN}\n${renderTransitions()}\n${document.slice(end)}`;
}

if (import.meta.main) {
  const file = new URL('../ARCHITECTURE.md', import.meta.url);
  writeFileSync(file, withTransitions(readFileSync(file, 'utf8')));
}
