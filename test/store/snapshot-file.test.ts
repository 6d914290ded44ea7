import { join } from 'node:path';
import { expect, it } from 'vitest';
import { diskFiles, type Files } from '../../src/store/files.ts';
import { readSnapshot, writeSnapshot } from '../../src/store/snapshot-file.ts';
import { emptyStoreDocument } from '../../src/store/store-document.ts';
import { textRow } from '../support/rows.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

it('writes 100,000 rows in slices that leave the event loop free', async () => {
  const document = emptyStoreDocument();
  document.sequence = 7;
  for (let index = 0; index < 100_000; index++) document.tables.node.set(`row-${index}`, textRow('x'.repeat(200)));
  const slices: number[] = [];
  const path = join(temporaryDirectory(), 'snapshot');
  const length = await writeSnapshot(noting(slices), path, document);
  expect(Math.max(...slices)).toBeLessThan(300 * 1024);
  expect(slices.reduce((sum, slice) => sum + slice, 0)).toBe(length);
  const read = await readSnapshot(diskFiles, path);
  expect(read.bytes).toBe(length);
  expect(read.document.sequence).toBe(7);
  expect(read.document.tables.node.size).toBe(100_000);
  expect(read.document.tables.node.get('row-99999')).toEqual(textRow('x'.repeat(200)));
});

it('writes and reads a document without rows', async () => {
  const path = join(temporaryDirectory(), 'snapshot');
  const bytes = await writeSnapshot(diskFiles, path, emptyStoreDocument());
  expect(await readSnapshot(diskFiles, path)).toEqual({ document: emptyStoreDocument(), bytes });
});

it('finds an empty document where there is no file', async () => {
  const path = join(temporaryDirectory(), 'snapshot');
  expect(await readSnapshot(diskFiles, path)).toEqual({ document: emptyStoreDocument(), bytes: 0 });
});

/** The machine's files, noting how much is written at a time. */
function noting(slices: number[]): Files {
  return {
    ...diskFiles,
    create: async (path) => {
      const file = await diskFiles.create(path);
      return {
        ...file,
        append: (bytes) => {
          slices.push(bytes.length);
          return file.append(bytes);
        },
      };
    },
  };
}
