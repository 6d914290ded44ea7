// Locates files of the package: next to src/ in a clone, next to dist/ in an installed package.
import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { invariant } from './invariant.ts';

/** Returns the absolute path of a file or folder of the package, such as `sample-repo`. */
export function productPath(...parts: readonly string[]): string {
  const packageJson = findPackageJSON(import.meta.url);
  invariant(packageJson !== undefined, 'the program is in a package');
  return join(dirname(packageJson), ...parts);
}

/** Returns the version in package.json. */
export function productVersion(): string {
  const { version } = JSON.parse(readFileSync(productPath('package.json'), 'utf8')) as { readonly version: string };
  return version;
}
