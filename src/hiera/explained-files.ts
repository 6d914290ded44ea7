// Lists the files that an explanation names.
import type { FilelessExplanation } from '../model/explanation.ts';
import { compareNames } from '../model/names.ts';

/** Returns the paths of all layers and statements, each once, sorted. */
export function filesIn({ layers, keys }: Pick<FilelessExplanation, 'layers' | 'keys'>): readonly string[] {
  const files = new Set<string>();
  for (const { file } of layers) if (file !== null) files.add(file);
  for (const { statements } of Object.values(keys)) {
    for (const { at, suppliedAt } of statements) {
      for (const place of [at, suppliedAt]) if (place !== null) files.add(place.file);
    }
  }
  return [...files].sort(compareNames);
}
