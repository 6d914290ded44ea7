// Defines the outputs of servers that have none: one empty map, which the rows of all of them share; and says which
// outputs a text takes.
import type { JsonMap } from './json.ts';
import { compareNames } from './names.ts';
import type { OutputSource } from './record.ts';
import type { OutputPiece, OutputText, OutputTexts } from './spec.ts';

/** No outputs. */
export const NO_OUTPUTS: JsonMap = Object.freeze({});

/** Returns the outputs that a text takes, in order. */
export function outputsOf({ texts }: OutputText): readonly OutputSource[] {
  return texts.flat().flatMap((piece): readonly OutputSource[] => {
    return typeof piece === 'string' ? [] : [{ output: piece.output, servers: serversOf(piece) }];
  });
}

/** Returns the servers whose outputs a text takes, sorted, without repeats. */
export function serversRead(text: OutputText): readonly string[] {
  return [...new Set(outputsOf(text).flatMap(({ servers }) => servers))].sort(compareNames);
}

/** Returns the servers whose outputs the properties of a server take. */
export function allServersRead(reads: OutputTexts = {}): Set<string> {
  return new Set(Object.values(reads).flatMap(serversRead));
}

/** Returns the names of the servers whose output it is. */
export function serversOf({ of }: Exclude<OutputPiece, string>): readonly string[] {
  return typeof of === 'string' ? [of] : of;
}
