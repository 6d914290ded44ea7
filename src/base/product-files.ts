// Locates files that come with the program: next to src/ in a clone, next to dist/ in an installed package.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Returns the absolute path of a file or folder of the package, such as `sample-repo`. */
export function productPath(...parts: readonly string[]): string {
  return join(packageRoot(), ...parts);
}

/** Returns the version in package.json. */
export function productVersion(): string {
  const { version } = JSON.parse(readFileSync(productPath('package.json'), 'utf8')) as { readonly version: string };
  return version;
}

function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  // src/base, or dist/src/base: a few steps up at most.
  for (let steps = 0; steps < 4; steps += 1) {
    if (existsSync(join(folder, 'package.json'))) return folder;
    folder = dirname(folder);
  }
  throw new Error('package.json of treeline was not found above the program');
}
