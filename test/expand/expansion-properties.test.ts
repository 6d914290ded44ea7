// Tests properties of every expanded stack on generated stacks.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { expandStack } from '../../src/expand/expand-stack.ts';
import type { ExpandedServer } from '../../src/model/expanded.ts';
import { hasNoErrors } from '../../src/model/problem.ts';
import { countRuns } from '../support/count-runs.ts';
import { instanceEntry, templateEntry } from '../support/entries.ts';

interface Group {
  readonly key: string;
  readonly count: number;
  readonly start: string;
  readonly retired: readonly number[];
  readonly properties: Readonly<Record<string, string>>;
}

/** Only groups of earlier keys are listed and depended on, so that nothing goes in a circle. */
function groupsOf(size: number): fc.Arbitrary<readonly Group[]> {
  const keys = Array.from({ length: size }, (_, position) => `g${position}`);
  return fc.tuple(...keys.map((key, position) => groupOf(key, keys.slice(0, position))));
}

function groupOf(key: string, earlier: readonly string[]): fc.Arbitrary<Group> {
  const arrays = earlier.flatMap((other) => [`<<(Array)['${other}']['p']>>`, `x<<(Array)['${other}']['name']>>`]);
  const value = fc.constantFrom('plain', '<<zone>>', '<<index>>', 'a-<<zone>>-<<index>>', '<<<zone>>', ...arrays);
  const properties = fc.record(
    { p: value, q: value, depends_on: fc.constantFrom('outside', ...earlier) },
    { requiredKeys: ['p'] },
  );
  return fc.record({
    key: fc.constant(key),
    count: fc.nat(4),
    start: fc.constantFrom('1', '0', '01', '009'),
    retired: fc.array(fc.integer({ min: 9, max: 12 }), { maxLength: 3 }),
    properties: properties.map((some) => some as Record<string, string>),
  });
}

function expand(groups: readonly Group[], counts?: number): readonly ExpandedServer[] {
  const resources = groups.map(({ key, count, start, properties }) => [
    key,
    {
      type: 'Platform::ResourceGroup',
      properties: { count: String(counts ?? count), index_start: start, resource_def: { properties } },
    },
  ]);
  const template = { parameters: { zone: 'z' }, resources: Object.fromEntries(resources) };
  const retired = groups.map(({ key, retired: indexes }) => [key, { index: indexes.map(String) }]);
  const instance = { stackTemplate: 'web', stackTemplateSubstractions: { resources: Object.fromEntries(retired) } };
  const { servers, problems } = expandStack(
    instanceEntry(JSON.stringify(instance)),
    templateEntry(JSON.stringify(template)),
  );
  expect(hasNoErrors(problems)).toBe(true);
  return servers;
}

function dataOf(servers: readonly ExpandedServer[]): unknown {
  return JSON.parse(JSON.stringify(servers, (key, value) => (key === 'outside' ? undefined : value)));
}

const GROUPS = groupsOf(3);

test('scaling out only adds members at the end, and scaling in removes them', () => {
  fc.assert(
    fc.property(GROUPS, fc.nat(6), fc.nat(6), (groups, few, more) => {
      const small = expand(groups, few);
      const large = expand(groups, few + more);
      for (const { key, properties } of groups) {
        const membersIn = (servers: readonly ExpandedServer[]): readonly ExpandedServer[] =>
          servers.filter((server) => server.key === key);
        const kept = membersIn(large).slice(0, few);
        expect(membersIn(large)).toHaveLength(few + more);
        expect(kept.map(({ name, index }) => [name, index])).toEqual(
          membersIn(small).map(({ name, index }) => [name, index]),
        );
        // What lists other groups changes with them, and with what they list.
        if (JSON.stringify(properties).includes('Array')) continue;
        expect(kept.map((server) => server.properties)).toEqual(membersIn(small).map((server) => server.properties));
      }
    }),
    { numRuns: countRuns(50) },
  );
});

test('the order of keys in a file changes only the order of servers', () => {
  const byName = (servers: readonly ExpandedServer[]): unknown =>
    dataOf([...servers].sort((a, b) => (a.name < b.name ? -1 : 1)));
  fc.assert(
    fc.property(GROUPS, (groups) => {
      const reversed = groups.toReversed().map((group) => ({
        ...group,
        properties: Object.fromEntries(Object.entries(group.properties).toReversed()),
      }));
      expect(byName(expand(reversed))).toEqual(byName(expand(groups)));
    }),
    { numRuns: countRuns(50) },
  );
});

test('no server depends on itself or on a missing server of the stack', () => {
  fc.assert(
    fc.property(GROUPS, (groups) => {
      const servers = expand(groups);
      const names = new Set(servers.map(({ name }) => name));
      for (const { name, dependsOn, outside, lists } of servers) {
        const others = new Set(outside.map(({ server }) => server));
        expect(dependsOn).not.toContain(name);
        expect(lists).not.toContain(name);
        expect(dependsOn.filter((other) => !others.has(other) && !names.has(other))).toEqual([]);
        expect(lists.filter((other) => !names.has(other))).toEqual([]);
      }
    }),
    { numRuns: countRuns(50) },
  );
});
