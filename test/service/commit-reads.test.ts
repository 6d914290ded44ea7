// What the history shows of the effect of large commits.
import { expect, it } from 'vitest';
import type { CommitCounts, CommitRow } from '../../src/model/rows.ts';
import type { ConfigurationChange, Plan } from '../../src/plan/plan.ts';
import { commitReads } from '../../src/service/progress/commit-reads.ts';
import { NOW } from '../reconcile/build.ts';
import { ADMINISTRATOR, open } from './service.ts';

const COMMIT = 'c'.repeat(40);
const NO_CHANGES: CommitCounts = { created: 0, updated: 0, replaced: 0, deleted: 0, records: 0 };
const EMPTY: Plan = {
  base: 'b',
  head: COMMIT,
  access: [],
  safety: [],
  changes: [],
  retained: [],
  nodes: [],
  configuration: [],
  invalid: [],
  problems: [],
  knownProblems: 0,
  held: null,
};

/** Returns what is shown of a followed commit with this effect. */
async function shown(counts: Partial<CommitCounts>, plan: Partial<Plan> = {}) {
  const { desired, ledger } = await open();
  const value: CommitRow = {
    state: 'followed',
    time: '',
    subject: '',
    author: '',
    committed: '',
    signature: null,
    base: 'b',
    reason: null,
    counts: { shop: { ...NO_CHANGES, ...counts } },
    done: null,
    approvals: [],
  };
  await ledger.commit([{ kind: 'commit', name: COMMIT, value, expected: undefined }]);
  const reads = commitReads({
    desired: () => desired,
    refused: () => undefined,
    notReadyReason: () => '',
    rows: ledger,
    now: () => NOW,
    describe: () => Promise.resolve(null),
    planOf: () => Promise.resolve({ ...EMPTY, ...plan }),
  });
  return await reads.commit(ADMINISTRATOR, COMMIT);
}

it('a commit shows a change of one key for more than 1,000 nodes', async () => {
  const configuration = [{ key: 'port', nodes: 1_001 } as ConfigurationChange];
  const { plan, ...rest } = await shown({ records: 1_001 }, { configuration });
  expect(plan).toMatchObject({ configuration });
  expect(rest).not.toHaveProperty('planLeftOut');
});

it('a commit shows none of more than 2,000 changes', async () => {
  expect(await shown({ records: 1_000, updated: 1_001 })).toMatchObject({ plan: null, planLeftOut: 2_001 });
});
