// A clone of the product as an operator has it after `npm ci`. The packages are those of the tests, linked instead of installed
// again: what a registry delivers is no matter of the documents.
import { chownSync, cpSync, lchownSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './command-line.ts';
import type { Person } from './terminal.ts';

const PARTS = ['package.json', 'src', 'scripts', 'schemas', 'sample-repo', 'contrib', 'README.md', 'docs'];

/** Returns the folder of a clone in an operator's home, which is theirs, with what `change` changes in it. */
export function cloneFor({ home, uid }: Person, change?: (clone: string) => void): string {
  const clone = join(home, 'treeline');
  mkdirSync(clone);
  for (const part of PARTS) cpSync(join(ROOT, part), join(clone, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
  change?.(clone);
  if (uid === undefined) return clone;
  for (const name of readdirSync(clone, { recursive: true })) {
    const path = join(clone, String(name));
    if (!path.startsWith(join(clone, 'node_modules'))) lchownSync(path, uid, uid);
  }
  chownSync(clone, uid, uid);
  return clone;
}
