// Two controllers on one store: whole processes, as an operator starts them.
import { expect, it } from 'vitest';
import { ServingProcess } from '../support/serving-process.ts';
import { createSite } from '../support/site.ts';

it('refuses the second controller, and leaves the first alone', async () => {
  const site = await createSite({ 'tree.yaml': 'name: global\ntype: common\n' });
  const first = new ServingProcess(site.config);
  await first.logged('commit followed');
  const second = new ServingProcess(site.config);
  expect(await second.exit(), 'another start may succeed').toBe(4);
  expect(second.stderr).toMatch(
    /^treeline: The store in \S+\/state is in use by another process\. Two controllers must not share it: stop the other one, or give this one a directory of its own\.\n$/,
  );
  expect(second.lines).toEqual([]);
  expect(await first.end('SIGTERM')).toBe(0);
  const third = new ServingProcess(site.config);
  await third.logged('commit followed');
  expect(await third.end('SIGTERM')).toBe(0);
});
