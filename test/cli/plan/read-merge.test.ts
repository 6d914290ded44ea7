// Plans of real commits: what is read, what belongs to the branch, and what is said where a commit is not there.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type MergeOrder, planOnRecorded, readMerge } from '../../../src/cli/plan/read-merge.ts';
import { hasNoEffect, type Plan } from '../../../src/plan/plan.ts';
import { planMerge } from '../../../src/plan/plan-merge.ts';
import { openLocalRepository } from '../../../src/repository/local-repository.ts';
import type { RecordedState } from '../../../src/service/answers.ts';
import { actionsIn, keysIn, SHOP } from '../../plan/planned.ts';
import { Core } from '../../reconcile/core.ts';
import { createGitRepository, type GitRepository, runGit } from '../../support/git-repository.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const SHOP_FILE = 'stacks/instances/shop.yaml';
const BLOG_FILE = 'stacks/instances/blog.yaml';
const COMMON_FILE = 'types/common/global.yaml';
const GROWN = { [SHOP_FILE]: `${SHOP[SHOP_FILE]}  count: "4"\n` };
const GROWTH = ['update shop-db', 'create shop-web-4'];
const DEBUG = { [COMMON_FILE]: SHOP[COMMON_FILE].replace('info', 'debug') };
const BLOG_SERVERS = ['delete blog-db', 'delete blog-web-1'];

type Changes = Readonly<Record<string, string | null>>;

function emptyRepository(options: { readonly bare?: boolean } = {}): Promise<GitRepository> {
  return createGitRepository(join(temporaryDirectory(), 'stacks.git'), options);
}

/** Returns a repository with the shop. */
async function branched(options: { readonly bare?: boolean } = {}) {
  const repository = await emptyRepository(options);
  const first = await repository.commit(SHOP);
  return { repository, first };
}

/** Returns the plan of merging `branch` into `main`. `path`: where the layout begins. */
async function planAt(path: string, order: Partial<MergeOrder> = {}): Promise<Plan> {
  const repository = await openLocalRepository(path);
  onTestFinished(() => repository[Symbol.dispose]());
  return planMerge(await readMerge(repository, { base: 'main', head: 'branch', budget: 100, ...order }));
}

function below(folder: string, files: Changes): Changes {
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text]));
}

it('a merge excludes changes that others merged if the branch is behind', async () => {
  const { repository, first } = await branched();
  await repository.commit(GROWN, { branch: 'branch', parents: [first] });
  const alone = await planAt(repository.path, { base: first });
  await repository.commit({ ...DEBUG, [BLOG_FILE]: null, 'clients/B2.yaml': 'role: proxy\n' });
  const plan = await planAt(repository.path);
  expect({ ...plan, base: alone.base }).toEqual(alone);
  expect([actionsIn(plan), keysIn(plan)]).toEqual([GROWTH, ['peers on 1']]);
});

it('a merge with conflicts needs a rebase, and has no effect', async () => {
  const { repository, first } = await branched();
  await repository.commit({ ...GROWN, ...DEBUG }, { branch: 'branch', parents: [first] });
  await repository.commit({ [COMMON_FILE]: '{}\n' });
  const plan = await planAt(repository.path);
  expect(plan.problems).toMatchObject([{ code: 'needs_rebase', severity: 'error', file: COMMON_FILE }]);
  expect(hasNoEffect(plan)).toBe(true);
});

it.each<[what: string, base: Changes, branch: Changes, actions: readonly string[], known: number]>([
  [
    'a wrong instance, with its last valid version',
    { [SHOP_FILE]: 'stackTemplate: wbe\n' },
    { [SHOP_FILE]: SHOP[SHOP_FILE].replace('8080', '8081') },
    ['update shop-web-1', 'update shop-web-2', 'update shop-web-3'],
    0,
  ],
  [
    'a wrong instance that the branch leaves alone',
    { [SHOP_FILE]: 'stackTemplate: wbe\n' },
    { [BLOG_FILE]: null },
    BLOG_SERVERS,
    1,
  ],
  [
    'something unreadable in place of an instance',
    { [SHOP_FILE]: null, 'stacks/instances/shop.yml': 'x: 1\n' },
    DEBUG,
    [],
    1,
  ],
  ['nothing left', { [SHOP_FILE]: null, [BLOG_FILE]: null }, DEBUG, [], 1],
  [
    'a wrong tree, as the commit before it',
    { 'tree.yaml': 'name: [' },
    { 'tree.yaml': SHOP['tree.yaml'], ...GROWN },
    GROWTH,
    0,
  ],
])('a merge is possible onto a base with %s', async (_, base, branch, actions, known) => {
  const { repository } = await branched();
  const wrong = await repository.commit(base);
  await repository.commit(branch, { branch: 'branch', parents: [wrong] });
  const plan = await planAt(repository.path);
  expect(actionsIn(plan)).toEqual(actions);
  expect(plan).toMatchObject({ problems: [], knownProblems: known, invalid: [] });
});

it('a merge creates everything if base has no layout', async () => {
  const repository = await emptyRepository();
  const first = await repository.commit({ README: 'nothing yet' });
  await repository.commit(SHOP, { branch: 'branch', parents: [first] });
  expect(await planAt(repository.path)).toMatchObject({ changes: Array(6).fill({}), problems: [], held: null });
});

describe('a trailer that approves deletes', () => {
  it.each([
    ['lets them happen', {}, null],
    ['has no effect during a recovery', { isRecovering: true }, { deletes: 2 }],
  ] as const)('%s', async (_what, behind, held) => {
    const { repository, first } = await branched();
    const message = 'Remove\n\nTreeline-Approve-Deletes: 2\n';
    await repository.commit({ [BLOG_FILE]: null }, { branch: 'branch', parents: [first], message });
    const opened = await openLocalRepository(repository.path);
    onTestFinished(() => opened[Symbol.dispose]());
    const core = new Core();
    core.source.commit(SHOP);
    await core.poll();
    const recorded: RecordedState = { ...core.operator.recorded(), commit: first, ...behind };
    const problems = { commit: first, problems: [] };
    const plan = await planOnRecorded(opened, { recorded, problems, budget: 0, head: 'branch' });
    if (held === null) expect(plan).toMatchObject({ held: null, safety: [{ field: 'Treeline-Approve-Deletes' }] });
    else expect(plan).toMatchObject({ held, safety: [] });
  });

  it('is shown even if no file changes', async () => {
    const { repository, first } = await branched();
    const message = 'Fix a typo\n\nTreeline-Approve-Deletes: 99\n';
    await repository.commit({ README: 'x' }, { branch: 'branch', parents: [first], message });
    const plan = await planAt(repository.path);
    expect(plan.safety).toEqual([{ object: 'commits', field: 'Treeline-Approve-Deletes', from: null, to: 99 }]);
    expect(hasNoEffect(plan)).toBe(false);
  });
});

describe('the repository of a plan', () => {
  it('may have the layout below its root, in a commit that is not checked out', async () => {
    const repository = await emptyRepository({ bare: false });
    const first = await repository.commit({ ...below('infra/stacks', SHOP), 'main.c': '1' });
    const grown = { ...below('infra/stacks', GROWN), 'main.c': '2' };
    await repository.commit(grown, { branch: 'branch', parents: [first] });
    await repository.commit({ 'main.c': '3' });
    const plan = await planAt(join(repository.path, 'infra/stacks'));
    expect(existsSync(join(repository.path, 'infra'))).toBe(false);
    expect([actionsIn(plan), plan.changes[1]?.file, plan.problems]).toEqual([GROWTH, SHOP_FILE, []]);
  });

  it('is not a repository that a commit contains', async () => {
    const repository = await emptyRepository({ bare: false });
    const first = await repository.commit(below('infra', SHOP));
    // With another layout at the root, and the commit before it as base, such a repository would have no effect.
    const both = { ...below('infra', GROWN), ...SHOP };
    const grown = await repository.commit(both, { branch: 'branch', parents: [first] });
    const inside = { HEAD: 'ref: refs/heads/main\n', 'refs/heads/main': grown, config: '[core]\n' };
    const head = await repository.commit(
      below('infra', { ...inside, 'objects/info/alternates': '../../.git/objects\n' }),
      { branch: 'branch', parents: [grown] },
    );
    await repository.git('checkout', '--quiet', 'branch');
    expect(actionsIn(await planAt(join(repository.path, 'infra'), { head }))).toEqual(GROWTH);
  });

  it('may be a bare one that the outer repository does not contain', async () => {
    const around = await emptyRepository({ bare: false });
    await around.commit({ 'main.c': '1' });
    const repository = await createGitRepository(join(around.path, 'stacks.git'));
    const first = await repository.commit(SHOP);
    await repository.commit(GROWN, { branch: 'branch', parents: [first] });
    expect(actionsIn(await planAt(repository.path))).toEqual(GROWTH);
  });

  it('runs no program of its configuration', async () => {
    const { repository, first } = await branched({ bare: false });
    await repository.commit(GROWN, { branch: 'branch', parents: [first] });
    const clone = join(temporaryDirectory(), 'partial');
    await repository.git('config', 'uploadpack.allowFilter', 'true');
    await runGit(['clone', '--quiet', '--no-checkout', '--filter=blob:none', `file://${repository.path}`, clone]);
    const program = join(temporaryDirectory(), 'program.sh');
    writeFileSync(program, `#!/bin/sh\ntouch ${program}.ran\nexit 1\n`);
    chmodSync(program, 0o755);
    const named = ['core.sshCommand', 'core.fsmonitor', 'core.pager', 'core.editor', 'core.alternateRefsCommand'];
    for (const [key = '', value = ''] of [
      ['remote.origin.uploadpack', program],
      ['remote.origin.url', `ssh://127.0.0.1${repository.path}`],
      ...named.map((name) => [name, program]),
      ['core.hooksPath', join(program, '..')],
    ]) {
      execFileSync('git', ['-C', clone, 'config', key, value]);
    }
    await expect(planAt(clone, { base: 'origin/main', head: 'origin/branch' })).rejects.toThrow(
      /a clone with --filter lacks files/,
    );
    expect(existsSync(`${program}.ran`)).toBe(false);
  });
});

describe('the error of an impossible plan says', () => {
  it('which revision is unknown or invalid', async () => {
    const { repository } = await branched();
    for (const [head, words] of [
      ['nowhere', /there is no commit "nowhere" in .*: "git fetch" brings/],
      ['-x', /"-x" is not a git revision/],
      ['main\n', /is not a git revision/],
      ['', /"" is not a git revision/],
      ['main^{tree}', /there is no commit/],
      ['main..branch', /there is no commit/],
      ['0'.repeat(40), /there is no commit/],
    ] as const) {
      await expect(planAt(repository.path, { head })).rejects.toThrow(words);
    }
  });

  it('that two histories are unrelated, that a layout or a repository is missing', async () => {
    const { repository } = await branched({ bare: false });
    const unrelated = await repository.commit(GROWN, { branch: 'branch', parents: [] });
    await expect(planAt(repository.path)).rejects.toThrow(/have no commit in common: their histories are unrelated/);
    await expect(planAt(join(repository.path, 'stacks'), { base: unrelated })).rejects.toThrow(
      'neither commit has tree.yaml in "stacks/": name the directory where the layout begins',
    );
    await expect(planAt('/')).rejects.toThrow(/there is no Git repository at or above/);
  });

  it('that a clone is shallow', async () => {
    const { repository, first } = await branched();
    await repository.commit(GROWN, { branch: 'branch', parents: [first] });
    await repository.commit({ 'types/zone/x.yaml': 'log: a\n' });
    const clone = join(temporaryDirectory(), 'clone');
    await runGit(['clone', '--quiet', '--depth=1', '--no-single-branch', `file://${repository.path}`, clone]);
    await expect(planAt(clone, { base: 'origin/main', head: 'origin/branch' })).rejects.toThrow(/"fetch-depth: 0"/);
  });
});
