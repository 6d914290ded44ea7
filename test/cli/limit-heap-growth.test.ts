// From which heap on its growth is limited. The collections are real; the flag is not set.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, vi } from 'vitest';
import { limitHeapGrowth } from '../../src/cli/limit-heap-growth.ts';

const GIB = 2 ** 30;

it('is limited more strictly once a full collection leaves much in use, and only then', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: { readonly type: 'minor' | 'major' }) => void;
  const [ofLarge, ofSmall]: [string[], string[]] = [[], []];
  limitHeapGrowth({ smallBytesMax: 1, setFlag: (flag) => ofLarge.push(flag) });
  limitHeapGrowth({ smallBytesMax: 64 * GIB, setFlag: (flag) => ofSmall.push(flag) });
  collect({ type: 'major' });
  await vi.waitFor(() => expect(ofLarge).toEqual(['--heap-growing-percent=100', '--heap-growing-percent=30']));
  collect({ type: 'major' });
  await new Promise(setImmediate);
  expect(ofLarge).toHaveLength(2);
  expect(ofSmall).toEqual(['--heap-growing-percent=100']);
});
