// Tests that an admitted instance can be recorded, and that one that cannot is refused without stopping others. The servers
// share their lists, so that hundreds of MiB on disk are few in memory.
import { describe, expect, it } from 'vitest';
import type { DesiredState } from '../../src/desired/desired-state.ts';
import {
  capacityRefusals,
  capacityUsed,
  INSTANCE_BYTES_MAX,
  ROWS_BYTES_MAX,
  reservedBytes,
  specBytes,
} from '../../src/desired/store-capacity.ts';
import type { Unit } from '../../src/desired/unit.ts';
import { firstRow, withOutputs } from '../../src/machine/want.ts';
import { describeProblems } from '../support/entries.ts';
import { TextRepository } from '../support/text-repository.ts';

const NAME = 'a-long-name-'.repeat(6);
const TEMPLATE = `parameters: { prefix: "", low: "1", top: "1", role: "" }
resources:
  low:
    type: Platform::ResourceGroup
    properties: { count: "<<low>>", resource_def: { properties: { name: "<<prefix>>-low-${NAME}<<index>>", role: "<<role>>" } } }
  top:
    type: Platform::ResourceGroup
    properties: { count: "<<top>>", resource_def: { properties: { name: "<<prefix>>-top-<<index>>", depends_on: low } } }
`;
const BASE = {
  'tree.yaml': 'name: global\ntype: common\n',
  'stacks/templates/large.yaml': TEMPLATE,
  'types/role/web.yaml': 'motd: "é \\u0001 and \\"more\\""\n',
};

const STAMP = { commit: 'c'.repeat(40), time: '2026-11-20T10:00:00Z', now: 1 };

/** About 80 bytes for each of low × top. */
function large(prefix: string, { low, top, role = '' }: { low: number; top: number; role?: string }): string {
  return `stackTemplate: large\nparameters: { prefix: ${prefix}, low: "${low}", top: "${top}", role: "${role}" }\n`;
}

function path(name: string): string {
  return `stacks/instances/${name}.yaml`;
}

function repositoryOf(): TextRepository {
  const repository = new TextRepository();
  repository.commit(BASE);
  return repository;
}

function unitIn(desired: DesiredState, name: string): Unit {
  const unit = desired.units.get(`stack-instance/${name}`);
  if (unit === undefined) throw new Error(`${name} is not in force`);
  return unit;
}

describe('what an instance takes', () => {
  it('is never less than its rows do once they are applied', () => {
    const unit = unitIn(repositoryOf().commit({ [path('a')]: large('a', { low: 7, top: 9, role: 'web' }) }), 'a');
    let bytes = 0;
    for (const server of unit.servers.values()) {
      const row = firstRow(server, STAMP);
      bytes += Buffer.byteLength(JSON.stringify(['server', server.name, { ...row, applied: server.spec }])) + 19;
    }
    expect(bytes).toBeGreaterThan(specBytes(unit.servers).total);
    expect(reservedBytes(unit)).toBeGreaterThanOrEqual(bytes);
    expect(reservedBytes(unit)).toBeLessThan(bytes + 2 * 1024 * unit.servers.size);
  });

  it('is limited: one that passes it is Invalid, and the others go on', () => {
    const repository = repositoryOf();
    repository.commit({ [path('a')]: large('a', { low: 1_000, top: 1_000 }) });
    const desired = repository.commit({
      [path('a')]: large('a', { low: 2_000, top: 1_000 }),
      [path('b')]: large('b', { low: 1, top: 1 }),
    });
    expect([...desired.invalid]).toEqual(['a']);
    expect(unitIn(desired, 'a').servers.size).toBe(2_000);
    expect(specBytes(unitIn(desired, 'a').servers).total).toBeLessThan(INSTANCE_BYTES_MAX);
    expect(describeProblems(desired.problems)).toEqual([
      expect.stringMatching(
        /^a\.yaml:1:16 stack_too_large: what is wanted of the servers of this stack takes 1[67]\d MiB, of which 1[67]\d are names .*; the limit is 128 \(depend on fewer servers, or divide the stack\) \[a\]$/,
      ),
    ]);
  });
});

describe('the room of all instances', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];

  it('is not passed: who needs most of it is refused, until the others fit', () => {
    const repository = repositoryOf();
    const first = repository.commit(
      Object.fromEntries(names.slice(0, 5).map((name) => [path(name), large(name, { low: 1_000, top: 1_000 })])),
    );
    expect([...first.invalid]).toEqual([]);
    const desired = repository.commit({
      [path('f')]: large('f', { low: 1_000, top: 900 }),
      [path('g')]: large('g', { low: 1_000, top: 1_100 }),
      [path('h')]: large('h', { low: 2, top: 2 }),
    });
    expect([...desired.invalid]).toEqual(['g']);
    expect(describeProblems(desired.problems)).toEqual([
      expect.stringMatching(
        /^g\.yaml:1:16 no_room: the store has no room for the servers of "g": they need 1\d\d MiB more, and all instances together may take 1,024 \(remove other instances first, or let another controller follow a part of them\) \[g\]$/,
      ),
    ]);
    expect(capacityUsed(desired.units.values(), { baseline: desired, bytes: 0 })).toBeLessThan(ROWS_BYTES_MAX);
    const after = repository.commit({ [path('a')]: null });
    expect([...after.invalid]).toEqual([]);
  });

  it('counts what is recorded of servers that no unit has any more', () => {
    const repository = repositoryOf();
    const before = repository.commit({ [path('a')]: large('a', { low: 10, top: 10 }) });
    const after = repository.commit({ [path('b')]: large('b', { low: 10, top: 10 }) });
    const [a, b] = [unitIn(after, 'a'), unitIn(after, 'b')];
    const both = reservedBytes(a) + reservedBytes(b);
    expect(capacityRefusals(after.units, { baseline: before, bytes: 0 }, both)).toEqual([]);
    expect(capacityRefusals(after.units, { baseline: before, bytes: reservedBytes(a) + 1 }, both)).toMatchObject([
      { key: 'stack-instance/b' },
    ]);
  });

  it('counts what servers have taken of the outputs of others, once it is recorded', () => {
    const repository = repositoryOf();
    const reader = `properties: { note: "<<(Output)['source']['note']>>" }`;
    const before = repository.commit({
      'stacks/templates/reading.yaml': `resources:\n  source: { type: Platform::Server }\n  reader: { type: Platform::Server, ${reader} }\n`,
      [path('a')]: 'stackTemplate: reading\n',
    });
    const after = repository.commit({ [path('b')]: large('b', { low: 10, top: 10 }) });
    const limit = reservedBytes(unitIn(after, 'a')) + reservedBytes(unitIn(after, 'b'));
    const refusalsWith = (note: string) => {
      const rows = [...unitIn(after, 'a').servers.values()].map((server) => {
        const { spec } = withOutputs(server, undefined, { outputsOf: () => ({ note }) });
        return { ...firstRow({ ...server, spec }, STAMP), applied: spec };
      });
      const bytes = Buffer.byteLength(JSON.stringify(rows));
      return capacityRefusals(after.units, { baseline: before, bytes }, limit).map(({ key }) => key);
    };
    expect(refusalsWith('short')).toEqual([]);
    expect(refusalsWith('x'.repeat(10_000))).toEqual(['stack-instance/b']);
  });

  it('never pins what does not grow, however little there is', () => {
    const repository = repositoryOf();
    const before = repository.commit({ [path('a')]: large('a', { low: 10, top: 10 }) });
    const after = repository.commit({ [path('a')]: large('a', { low: 9, top: 10 }) });
    expect(capacityRefusals(after.units, { baseline: before, bytes: 0 }, 1)).toEqual([]);
  });
});
