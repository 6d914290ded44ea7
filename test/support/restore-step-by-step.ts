// Restores a backup, and copies the directory of the store before each file operation, as a kill would leave it there.
import { cpSync } from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';

const [directory = '', backup = '', copies = ''] = process.argv.slice(2);
let count = 0;
const operations = promises as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
for (const name of ['copyFile', 'link', 'mkdir', 'rename', 'rm', 'open']) {
  const operation = operations[name];
  operations[name] = async (...args) => {
    cpSync(directory, join(copies, String(count++)), { recursive: true, filter: (path) => !path.endsWith('lock') });
    return await operation?.(...args);
  };
}
syncBuiltinESMExports();
const { restoreStore } = await import('../../src/store/store-file.ts');
await restoreStore(directory, backup, { force: true, now: 0, renew: () => [] });
