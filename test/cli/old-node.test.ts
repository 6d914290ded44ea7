// The entry point on an old Node. That is not here, so the names that it imports are looked at: Node refuses a file that imports
// one that it does not have, before the file can say which Node is needed. What the file says then is tried on a Node that gives
// itself out for an old one.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { OLD_NODE, ROOT, run } from '../support/command-line.ts';

/** The names that Node 18 has. */
const OLD_NAMES = ['existsSync', 'join', 'mkdirSync'];

it('the entry point imports only what every Node has', () => {
  const text = readFileSync(join(ROOT, 'src', 'cli.js'), 'utf8');
  const lists = [...text.matchAll(/^import \{([^}]*)\} from/gm)].map(([, names = '']) => names.split(','));
  const names = lists.flat().map((name) => name.trim());
  expect(names.filter((name) => !OLD_NAMES.includes(name))).toEqual([]);
});

it('an old Node is reported with its path and the remedy', async () => {
  const result = await run(process.execPath, ['--import', OLD_NODE, join(ROOT, 'src', 'cli.js'), '--version']);
  expect(result).toMatchObject({ code: 3, stdout: '' });
  expect(result.stderr).toContain(`Node 24 or newer is needed, and this is ${process.version} (${process.execPath})`);
  expect(result.stderr).toContain('npm run -s treeline -- COMMAND');
});
