// Counts the work of one change in two desired states, of which one is five times as large. It has to be the same, but for the
// rows of instances that activation looks at.
import { expect, it, vi } from 'vitest';
import type { RowKind } from '../../src/model/rows.ts';
import { instancePath, instanceText, repositoryFiles, rolePath, roleText } from '../support/sized-repository.ts';
import type { TextChanges } from '../support/text-repository.ts';
import { Core } from './core.ts';

const SERVERS = 3;
/** Instances. */
const SIZES = { small: 16, large: 80 };
/** So many instances draw on each role, whatever the size. */
const USERS = 2;
/** How often activating a commit looks at the row of each instance that it leaves as it is. */
const WALKS_OF_INSTANCES = 3;
/** After that it looks once for servers that wait for a proxy. */
const WALKS_OF_SERVERS = 1;

/** The work of a controller for one commit, until everything rests. */
interface Work {
  readonly blobsRead: unknown;
  readonly filesParsed: unknown;
  readonly instancesExpanded: unknown;
  readonly recordsMerged: unknown;
  /** Handed out by the store, one by one or in a walk. */
  readonly rowsRead: number;
  readonly rowsWritten: number;
  readonly bytesWritten: number;
  readonly calls: number;
}

/** Returns a controller whose servers are all done. */
async function restingCore(instances: number): Promise<Core> {
  const core = new Core({ budget: { percent: 100, least: 1_000, most: 1_000 } });
  const files = repositoryFiles({ instances, servers: SERVERS, kinds: instances / USERS });
  await core.follow(Object.fromEntries(Object.entries(files).map(([path, text]) => [path, String(text)])));
  expect(new Set(Object.values(core.states()))).toEqual(new Set(['done']));
  return core;
}

async function workOf(instances: number, changes: TextChanges): Promise<Work> {
  const core = await restingCore(instances);
  const rowsRead = countRowsRead(core);
  const committed = vi.spyOn(core.store, 'commit');
  const [bytes, calls, lines] = [core.store.savedBytes, core.provider.calls.length, core.lines.length];
  await core.follow(changes);
  const cost = core.lines.slice(lines).find(({ msg }) => msg === 'commit followed') ?? {};
  const { blobsRead, filesParsed, instancesExpanded, recordsMerged } = cost;
  return {
    blobsRead,
    filesParsed,
    instancesExpanded,
    recordsMerged,
    rowsRead: rowsRead(),
    rowsWritten: committed.mock.calls.reduce((sum, [rows]) => sum + rows.length, 0),
    bytesWritten: core.store.savedBytes - bytes,
    calls: core.provider.calls.length - calls,
  };
}

/** Returns a function that returns how many rows the store has handed out since. A walk counts as all rows of its kind. */
function countRowsRead({ store }: Core): () => number {
  let rows = 0;
  const { list } = store;
  vi.spyOn(store, 'list').mockImplementation((kind: RowKind) => {
    const all = list.call(store, kind);
    return new Proxy(all, {
      get(target, name) {
        if (name !== 'size') rows += name === 'get' || name === 'has' ? 1 : target.size;
        const field: unknown = Reflect.get(target, name, target);
        return typeof field === 'function' ? field.bind(target) : field;
      },
    });
  });
  return () => rows;
}

const CHANGES: readonly (readonly [what: string, changes: TextChanges, work: Partial<Work>])[] = [
  [
    'a change of one instance',
    { [instancePath(7)]: instanceText({ kind: 7, servers: SERVERS, version: '2' }) },
    { filesParsed: 1, instancesExpanded: 1, recordsMerged: SERVERS, calls: SERVERS },
  ],
  [
    'a change of configuration',
    { [rolePath(7)]: roleText(9000) },
    { filesParsed: 1, instancesExpanded: USERS, recordsMerged: USERS * SERVERS, calls: 0, rowsWritten: 2 },
  ],
  ['the removal of an instance', { [instancePath(7)]: null }, { filesParsed: 0, recordsMerged: 0, calls: SERVERS }],
  [
    'a new instance',
    { 'stacks/instances/more.yaml': instanceText({ kind: 7, servers: SERVERS }) },
    { filesParsed: 1, instancesExpanded: 1, recordsMerged: SERVERS },
  ],
  [
    'a removed server',
    { [instancePath(7)]: instanceText({ kind: 7, servers: SERVERS - 1 }) },
    { filesParsed: 1, instancesExpanded: 1, recordsMerged: SERVERS - 1 },
  ],
  ['an unrelated file', { 'README.md': 'x\n' }, { filesParsed: 0, recordsMerged: 0, rowsWritten: 2 }],
];

it.each(CHANGES)('%s costs the same with few and many instances', async (_what, changes, work) => {
  const { rowsRead: fewRead, ...small } = await workOf(SIZES.small, changes);
  const { rowsRead: manyRead, ...large } = await workOf(SIZES.large, changes);
  expect(small).toMatchObject(work);
  expect(large).toEqual(small);
  const more = SIZES.large - SIZES.small;
  expect(manyRead - fewRead).toBeLessThanOrEqual(more * (WALKS_OF_INSTANCES + SERVERS * WALKS_OF_SERVERS));
});

it.each(Object.values(SIZES))(
  'a restart without a change writes nothing and calls nothing, with %d instances',
  async (instances) => {
    const core = await restingCore(instances);
    const [rows, calls] = [new Map(core.ledger.list('server')), core.provider.calls.length];
    const next = await core.restart();
    const committed = vi.spyOn(next.store, 'commit');
    await next.poll();
    expect(committed.mock.calls.filter(([changes]) => changes.length > 0)).toEqual([]);
    expect(next.provider.calls.length).toBe(0);
    expect(core.provider.calls.length).toBe(calls);
    expect([...next.ledger.list('server')]).toEqual([...rows]);
  },
);
