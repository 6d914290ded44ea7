// A first start, or one after the store was lost: only versions that get along are joined, and one defect stops nobody else.

import { describe, expect, it } from 'vitest';
import { Core } from './core.ts';

const TEMPLATES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'clients/A1.yaml': 'role: administrator\n',
  'stacks/templates/one.yaml': `parameters: { name: "", needs: "" }
resources:
  server: { type: Platform::Server, properties: { name: "<<name>>", depends_on: "<<needs>>" } }
`,
};

function one(name: string, needs = ''): string {
  return `stackTemplate: one\nparameters: { name: "${name}", needs: "${needs}" }\n`;
}

describe('a suspension', () => {
  it('ends with the last server of its instance', async () => {
    const core = new Core({ budget: { percent: 100, least: 100, most: 100 } });
    core.source.commit({ ...TEMPLATES, 'stacks/instances/a.yaml': one('x'), 'stacks/instances/b.yaml': one('y') });
    await core.poll();
    await core.operator.suspend(core.order, {
      instance: 'a',
      until: new Date(core.clock.now() + 60_000).toISOString(),
    });
    core.source.commit({ 'stacks/instances/a.yaml': null });
    await core.poll();
    expect([core.ledger.list('suspension').size, core.states().x]).toEqual([1, 'marked for delete']);
    await core.pass(120_000);
    await core.pass(120_000);
    expect([core.ledger.list('suspension').size, core.states()]).toEqual([0, { y: 'done' }]);
    core.source.commit({ 'stacks/instances/a.yaml': one('x') });
    await core.poll();
    expect(core.reader.status('a')).toBe('Done');
  });
});
