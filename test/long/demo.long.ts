// The blocks of the README and of docs/demo.md, pasted into a shell while the demo runs on the whole sample. `npm run test:long`;
// test/cli/demo.test.ts has what needs few servers, and test/readme.test.ts the blocks of the README.
import { expect, it } from 'vitest';
import { DEMO_BLOCKS, followDemo, README_BLOCKS } from '../support/followed-demo.ts';

it('docs/demo.md works as it is written, for an ordinary user with the Node of the machine', async () => {
  await followDemo([...README_BLOCKS, ...DEMO_BLOCKS], 'as written');
  expect.hasAssertions();
});
