// The program that docs/providers.md shows.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './command-line.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** Undefined where there is no Python. */
export const PYTHON = ['/usr/bin/python3', '/usr/local/bin/python3', '/opt/homebrew/bin/python3'].find((path) =>
  existsSync(path),
);

/** Writes the example and returns how it is started. */
export function documentProgram(): readonly [string, string] {
  const example = /```python\n(.*?)```/s.exec(readFileSync(join(ROOT, 'docs/providers.md'), 'utf8'))?.[1] ?? '';
  const path = join(temporaryDirectory(), 'example.py');
  writeFileSync(path, example);
  return [PYTHON ?? '', path];
}
