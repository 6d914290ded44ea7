// Commits rows to a store for ever, and prints the name of each once it is acknowledged. Meant to be killed.
import { createLowdbStore } from '../../src/store/lowdb-store.ts';
import { writeText } from './rows.ts';

const [directory = '', prefix = ''] = process.argv.slice(2);
const store = await createLowdbStore(directory);
// The store keeps no process alive by itself.
setInterval(() => undefined, 1000);

async function commitForEver(worker: number): Promise<void> {
  for (let count = 0; count < 1_000_000; count++) {
    const name = `${prefix}-${worker}-${count}`;
    await store.commit([writeText(name, name), writeText(`${name}-twin`, name)]);
    process.stdout.write(`${name}\n`);
  }
}

await Promise.all([1, 2, 3].map(commitForEver));
