// A start with many instances that stay at older commits, each at another one: what it reads grows with their number, and not
// with its square.
import { expect, it } from 'vitest';
import { Core } from './core.ts';

const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'clients/A1.yaml': 'role: administrator\n',
  'stacks/templates/t.yaml': 'parameters: { size: small }\nresources: {}\n',
};

function files(count: number, parameter: (index: number) => string): Record<string, string> {
  const numbers = Array.from({ length: count }, (_, index) => index);
  return Object.fromEntries(
    numbers.map((index) => [
      `stacks/instances/i${index}.yaml`,
      `stackTemplate: t\nparameters: { ${parameter(index)} }\n`,
    ]),
  );
}

/** Returns how many files a start reads where so many instances are wrong, each valid last in another commit. */
async function readsOf(count: number): Promise<number> {
  const core = new Core();
  core.source.commit({ ...FILES, ...files(count, () => 'size: small') });
  for (let index = 0; index < count; index += 1) {
    core.source.commit({ [`stacks/instances/i${index}.yaml`]: `stackTemplate: t\nparameters: { size: "${index}" }\n` });
    await core.poll();
  }
  core.source.commit(files(count, () => 'sise: small'));
  await core.poll();
  expect(new Set([...core.ledger.list('pinned').values()].map(({ commit }) => commit)).size).toBe(count);
  const snapshot = core.source.snapshot.bind(core.source);
  let reads = 0;
  core.source.snapshot = async (...args) => {
    const read = await snapshot(...args);
    reads += read.blobs.size;
    return read;
  };
  const again = await core.restart();
  const parameters = again.current.get()?.units.get('stack-instance/i1')?.entry.object as { parameters?: object };
  expect(parameters.parameters).toEqual({ size: '1' });
  return reads;
}

it('reads in proportion to the instances that are pinned', async () => {
  const [few, many] = [await readsOf(8), await readsOf(32)];
  expect(many).toBeLessThan(few * 5);
});
