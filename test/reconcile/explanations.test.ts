// Explanations by a controller: with outputs, of pinned and unwanted servers.
import { describe, expect, it } from 'vitest';
import type { NodeExplanation } from '../../src/model/explanation.ts';
import { Core } from './core.ts';

const SHOP = 'stacks/instances/shop.yaml';
const OTHER = 'stacks/instances/other.yaml';
const TEMPLATE = `parameters: { count: "1", level: "" }
resources:
  s:
    type: Platform::ResourceGroup
    properties: { count: "<<count>>", resource_def: { properties: { level: "<<level>>", role: web } } }
`;

function instance(count: number, level = 'info'): string {
  return `stackTemplate: t\nparameters:\n  count: "${count}"\n  level: ${level}\n`;
}

const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'clients/A1.yaml': 'role: administrator\n',
  'types/common/global.yaml': 'level: error\nzone_file: a\n',
  'types/role/web.yaml': 'port: 80\n',
  'stacks/templates/t.yaml': TEMPLATE,
  [SHOP]: instance(4),
  [OTHER]: instance(1),
};

async function up(): Promise<Core> {
  const core = new Core();
  core.source.commit(FILES);
  await core.poll();
  return core;
}

function placesIn({ keys, files }: NodeExplanation, key: string): readonly unknown[] {
  return (keys[key]?.statements ?? []).map(({ value, effect, at, suppliedAt }) => {
    const place = suppliedAt ?? at;
    return [value, effect, place === null ? null : `${place.file}:${place.line}`, files[place?.file ?? '']?.commit];
  });
}

describe('an explanation by a controller', () => {
  it('has what every layer says, and the commit that changed its file last', async () => {
    const core = await up();
    core.source.commit({ 'types/common/global.yaml': 'zone_file: a\nlevel: fatal\n' });
    core.source.commit({ [OTHER]: instance(2) });
    await core.poll();
    const explained = await core.explainer.explain('shop-s-1', 'level');
    expect(explained).toMatchObject({ node: 'shop-s-1', commit: 'commit-3', isWanted: true, stackInstance: ['shop'] });
    expect(placesIn(explained, 'level')).toEqual([
      ['info', 'used', `${SHOP}:4`, 'commit-1'],
      ['fatal', 'overridden', 'types/common/global.yaml:2', 'commit-2'],
    ]);
    expect(Object.keys(explained.keys)).toEqual(['level']);
    const whole = await core.explainer.explain('shop-s-1');
    expect(whole.keys.level).toEqual(explained.keys.level);
    expect(Object.keys(whole.keys)).toEqual(Object.keys(core.reader.record('shop-s-1')));
  });
});
