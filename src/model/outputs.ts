// Finds the outputs and servers that a text uses. Also defines the empty outputs, one map that many rows share.
import type { JsonMap } from './json.ts';
import { compareNames } from './names.ts';
import type { OutputSource } from './record.ts';
import type { OutputPiece, OutputText, OutputTexts } from './spec.ts';

/** No outputs. */
export const NO_OUTPUTS: JsonMap = Object.freeze({});

/** Returns the outputs that a text uses, in order. */
export function outputsOf({ texts }: OutputText): readonly OutputSource[] {
  return texts.flat().flatMap((piece): readonly OutputSource[] => {
    return typeof piece === 'string' ? [] : [{ output: piece.output, servers: serversOf(piece) }];
  });
}

/** Returns the servers whose outputs a text uses, sorted, without repeats. */
export function serversRead(text: OutputText): readonly string[] {
  return [...new Set(outputsOf(text).flatMap(({ servers }) => servers))].sort(compareNames);
}

/** Returns the servers whose outputs the properties of a server use. */
export function allServersRead(reads: OutputTexts = {}): Set<string> {
  return new Set(Object.values(reads).flatMap(serversRead));
}

/** Returns the names of the servers of an output. */
export function serversOf({ of }: Exclude<OutputPiece, string>): readonly string[] {
  return typeof of === 'string' ? [of] : of;
}
