// The embedded store under a real kill -9: what was acknowledged is there, and the lock of the dead is no obstacle.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { createLowdbStore } from '../../src/store/lowdb-store.ts';
import { textRow } from '../support/rows.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const CHILD = fileURLToPath(new URL('../support/committing-child.ts', import.meta.url));
const ROUNDS = 5;

it('the store keeps every acknowledged row over five kills', async () => {
  const directory = temporaryDirectory();
  const acknowledged: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const names = await commitUntilKilled(directory, { prefix: `round-${round}`, rows: 40 + round * 60 });
    expect(names.length).toBeGreaterThanOrEqual(40);
    acknowledged.push(...names);
    const store = await createLowdbStore(directory);
    const missing = acknowledged.filter((name) => store.read('node', name)?.oid !== name);
    expect(missing).toEqual([]);
    // Each commit wrote two rows.
    for (const [name, row] of store.list('node')) {
      if (!name.endsWith('-twin')) expect(store.read('node', `${name}-twin`)).toEqual(textRow(row.oid));
    }
    await store.close();
  }
});

/** Returns the names that a child printed until it was killed, which is soon after it has printed `rows` of them. */
async function commitUntilKilled(directory: string, run: { prefix: string; rows: number }): Promise<string[]> {
  const child = spawn(process.execPath, [CHILD, directory, run.prefix], { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    printed += text;
    if (printed.split('\n').length > run.rows) child.kill('SIGKILL');
  });
  await closed;
  // What follows the last line break was not printed whole.
  return printed.split('\n').slice(0, -1);
}
