// The differences between two explanations of one node.
import { describe, expect, it } from 'vitest';
import { compareExplanations } from '../../src/hiera/explain-node.ts';
import type { ExplainedKey, NodeExplanation } from '../../src/model/explanation.ts';
import type { RecordValue } from '../../src/model/record.ts';
import { scopeOf } from './build.ts';

function keyOf(value: RecordValue | null, isSecret = false): ExplainedKey {
  const effect = value === null ? 'removes' : 'used';
  const statement = { layer: 0, value, effect, at: { file: 'a.yaml', line: 1 }, suppliedAt: null } as const;
  return { value, merge: 'first', isSecret, statements: [statement] };
}

function explanationOf(keys: Readonly<Record<string, ExplainedKey>>): NodeExplanation {
  const layer = { kind: 'object', type: 'common', name: 'base', file: 'a.yaml', status: 'present' } as const;
  return { node: 'web-1', stackInstance: [], commit: null, isWanted: true, layers: [layer], keys, files: {} };
}

function changesOf(from: Readonly<Record<string, ExplainedKey>>, to: Readonly<Record<string, ExplainedKey>>) {
  const sides = { from: explanationOf(from), to: explanationOf(to), hierarchies: [] };
  const { changes } = compareExplanations('web-1', sides);
  return changes.map((change) => [change.key, change.from?.value, change.to?.value]);
}

describe('the differences', () => {
  it('are the keys whose value is another one, sorted', () => {
    const from = { b: keyOf(1), a: keyOf('x'), same: keyOf(['p', 'q']), gone: keyOf(true), unset: keyOf('v') };
    const to = { a: keyOf('y'), b: keyOf('1'), same: keyOf(['p', 'q']), fresh: keyOf(false), unset: keyOf(null) };
    expect(changesOf(from, to)).toEqual([
      ['a', 'x', 'y'],
      ['b', 1, '1'],
      ['fresh', undefined, false],
      ['gone', true, undefined],
      ['unset', 'v', null],
    ]);
  });

  it('leave out a key that neither side has in its record, and the time of the last update', () => {
    expect(changesOf({ a: keyOf(null) }, {})).toEqual([]);
    expect(changesOf({ last_stack_update: keyOf('1') }, { last_stack_update: keyOf('2') })).toEqual([]);
  });

  it('do not tell a value that only one side counts as a secret, and that is no reference', () => {
    const { object } = scopeOf({ hierarchy: 'secrets: { keys: ["pin$"], reference: ^secret/ }' }).hierarchy;
    const hierarchies = [null, object];
    const from = explanationOf({ pin: keyOf('1234'), old_pin: keyOf(['5678']) });
    const to = explanationOf({ pin: keyOf('secret/pin', true) });
    for (const sides of [
      { from, to },
      { from: to, to: from },
      { from, to: undefined },
    ]) {
      const { changes } = compareExplanations('web-1', { ...sides, hierarchies });
      expect(changes.map(({ key }) => key)).toEqual(['old_pin', 'pin']);
      expect(JSON.stringify(changes)).not.toMatch(/1234|5678/);
    }
    const { changes } = compareExplanations('web-1', { from, to, hierarchies });
    expect(changes[1]).toMatchObject({ from: { value: '(secret)' }, to: { value: 'secret/pin' } });
  });

  it('are all keys where the node exists on one side only', () => {
    const { from, to, changes } = compareExplanations('web-1', {
      from: undefined,
      to: explanationOf({ a: keyOf(1), b: keyOf(null) }),
      hierarchies: [],
    });
    expect([from, to?.node, changes.map(({ key }) => key)]).toEqual([null, 'web-1', ['a']]);
  });
});
