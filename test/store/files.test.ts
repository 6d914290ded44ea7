import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeDirectory } from '../../src/store/files.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

it('makeDirectory creates missing parents for their owner only', async () => {
  const top = join(temporaryDirectory(), 'a');
  await makeDirectory(join(top, 'b', 'c'));
  for (const made of [top, join(top, 'b'), join(top, 'b', 'c')]) expect(statSync(made).mode & 0o777).toBe(0o700);
  await makeDirectory(join(top, 'b', 'c'));
});
