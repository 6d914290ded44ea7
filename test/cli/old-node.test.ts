// The entry point on an old Node. It cannot run here, so its names are looked at: Node refuses a file that imports one that it
// does not have, before the file can say which Node is needed.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../support/command-line.ts';

/** The names that Node 18 has. */
const OLD_NAMES = ['existsSync', 'join', 'mkdirSync'];

it('the entry point imports by name only what every Node has', () => {
  const text = readFileSync(join(ROOT, 'src', 'cli.js'), 'utf8');
  const lists = [...text.matchAll(/^import \{([^}]*)\} from/gm)].map(([, names = '']) => names.split(','));
  const names = lists.flat().map((name) => name.trim());
  expect(names.filter((name) => !OLD_NAMES.includes(name))).toEqual([]);
});
