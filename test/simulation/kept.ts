// Reads and prints kept scripts: those of seeds that once broke a promise, as small as they could be made. They stay as they
// are when what seeds draw changes. `npm run simulate -- --seed N --script` prints one, for kept/N.json.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Script } from './script.ts';

/** A kept script. */
export interface Kept {
  /** The failure of that run. */
  readonly title: string;
  readonly seed: number;
  readonly script: Script;
}

const FOLDER = join(import.meta.dirname, 'kept');

/** Returns the kept scripts in the order of their seeds. */
export function loadKept(): readonly Kept[] {
  return globSync('*.json', { cwd: FOLDER })
    .map((name): Kept => JSON.parse(readFileSync(join(FOLDER, name), 'utf8')))
    .sort((a, b) => a.seed - b.seed);
}
