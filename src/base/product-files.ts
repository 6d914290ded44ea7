// Locates files of the package: next to src/ in a clone, next to dist/ in an installed package.
import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';

/** Returns the absolute path of a file or folder of the package, such as `sample-repo`. */
export function productPath(...parts: readonly string[]): string {
  return join(dirname(findPackageJSON(import.meta.url) ?? ''), ...parts);
}

/** Returns the version in package.json. */
export function productVersion(): string {
  const { version } = JSON.parse(readFileSync(productPath('package.json'), 'utf8')) as { readonly version: string };
  return version;
}
