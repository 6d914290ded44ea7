// From which heap on its growth is limited. The collections are real; the flag is not set.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, vi } from 'vitest';
import { limitHeapGrowth } from '../../src/cli/limit-heap-growth.ts';
import { run } from '../support/command-line.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

it('is limited more strictly once a full collection leaves much in use, and only then', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: { readonly type: 'minor' | 'major' }) => void;
  const [ofLarge, ofSmall]: [string[], string[]] = [[], []];
  limitHeapGrowth({ smallBytesMax: 1, youngBytesMax: GIB, setFlag: (flag) => ofLarge.push(flag) });
  limitHeapGrowth({ smallBytesMax: 64 * GIB, youngBytesMax: GIB, setFlag: (flag) => ofSmall.push(flag) });
  collect({ type: 'major' });
  await vi.waitFor(() => expect(ofLarge).toEqual(['--heap-growing-percent=100', '--heap-growing-percent=30']), 20_000);
  collect({ type: 'major' });
  await new Promise(setImmediate);
  expect(ofLarge).toHaveLength(2);
  expect(ofSmall).toEqual(['--heap-growing-percent=100']);
});

it('keeps the young generation small, however much is made and kept', async () => {
  const [limited, unlimited] = await Promise.all([youngBytesOf('limitHeapGrowth();'), youngBytesOf('')]);
  // It doubles, and one step may be on its way when the limit is seen.
  expect(limited).toBeLessThanOrEqual(32 * MIB);
  expect(unlimited).toBeGreaterThan(32 * MIB);
});

/** Returns the size of the young generation of a process that does this first, and then makes much and keeps some of it. */
async function youngBytesOf(first: string): Promise<number> {
  const module = new URL('../../src/cli/limit-heap-growth.ts', import.meta.url);
  const program = `import { getHeapSpaceStatistics } from 'node:v8';
    import { limitHeapGrowth } from '${module}';
    ${first}
    const kept = [];
    for (let turn = 0; turn < 50; turn += 1) {
      for (let index = 0; index < 1e5; index += 1) {
        const made = { index, text: 'text ' + index };
        if (index % 10 === 0) kept.push(made);
      }
      await new Promise(setImmediate);
    }
    const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    console.log(young.space_size);`;
  const { code, stdout, stderr } = await run(process.execPath, ['--input-type=module', '--eval', program]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return Number(stdout);
}
