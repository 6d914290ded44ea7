// Plans of real commits: what is read, what belongs to the branch, and what is said where a commit is not there.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { planOnRecorded } from '../../../src/cli/plan/read-recorded.ts';
import { hasNoEffect } from '../../../src/plan/plan.ts';
import { openLocalRepository } from '../../../src/repository/local-repository.ts';
import type { RecordedState } from '../../../src/service/answers.ts';
import { actionsIn, keysIn, SHOP } from '../../plan/planned.ts';
import { Core } from '../../reconcile/core.ts';
import { createGitRepository, runGit } from '../../support/git-repository.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { emptyRepository, planAt } from './merges.ts';

const SHOP_FILE = 'stacks/instances/shop.yaml';
const BLOG_FILE = 'stacks/instances/blog.yaml';
const GROWN = { [SHOP_FILE]: `${SHOP[SHOP_FILE]}  count: "4"\n` };
const GROWTH = ['update shop-db', 'create shop-web-4'];
const DEBUG = { 'types/common/global.yaml': SHOP['types/common/global.yaml'].replace('info', 'debug') };

async function branched(options: { readonly bare?: boolean } = {}) {
  const repository = await emptyRepository(options);
  const first = await repository.commit(SHOP);
  return { repository, first };
}

describe('a branch behind main', () => {
  it('has nothing of what others merged in its plan', async () => {
    const { repository, first } = await branched();
    await repository.commit(GROWN, { branch: 'branch', parents: [first] });
    const alone = await planAt(repository.path, { base: first });
    await repository.commit({ ...DEBUG, [BLOG_FILE]: null, 'clients/B2.yaml': 'role: proxy\n' });

    const plan = await planAt(repository.path);

    expect(actionsIn(plan)).toEqual(GROWTH);
    expect(keysIn(plan)).toEqual(['peers on 1']);
    expect(plan.access).toEqual([]);
    expect(plan.digest).toBe(alone.digest);
  });

  it('needs a rebase where both changed a file; the rest is planned', async () => {
    const { repository, first } = await branched();
    await repository.commit({ ...GROWN, ...DEBUG }, { branch: 'branch', parents: [first] });
    await repository.commit({ 'types/common/global.yaml': '{}\n' });

    const plan = await planAt(repository.path);

    expect(plan.problems).toMatchObject([
      { code: 'needs_rebase', severity: 'error', file: 'types/common/global.yaml' },
    ]);
    expect(actionsIn(plan)).toEqual(GROWTH);
    expect(keysIn(plan)).toEqual(['peers on 1']);
  });
});

describe('base', () => {
  it('with a wrong instance is taken with its last valid version', async () => {
    const repository = await emptyRepository();
    await repository.commit(SHOP);
    const wrong = await repository.commit({ [SHOP_FILE]: 'stackTemplate: wbe\n' });
    await repository.commit(
      { [SHOP_FILE]: SHOP[SHOP_FILE].replace('8080', '8081') },
      { branch: 'branch', parents: [wrong] },
    );

    const plan = await planAt(repository.path);

    expect(actionsIn(plan)).toEqual(['update shop-web-1', 'update shop-web-2', 'update shop-web-3']);
    expect(plan).toMatchObject({ problems: [], knownProblems: 0, invalid: [] });
  });

  it('with a wrong instance that the branch leaves alone keeps it as it is', async () => {
    const repository = await emptyRepository();
    await repository.commit(SHOP);
    const wrong = await repository.commit({ [SHOP_FILE]: 'stackTemplate: wbe\n' });
    await repository.commit({ [BLOG_FILE]: null }, { branch: 'branch', parents: [wrong] });
    const plan = await planAt(repository.path);
    expect(actionsIn(plan)).toEqual(['delete blog-db', 'delete blog-web-1']);
    expect(plan).toMatchObject({ problems: [], knownProblems: 1, invalid: [] });
  });

  it.each<[what: string, changes: Readonly<Record<string, string | null>>]>([
    ['something unreadable in place of an instance', { [SHOP_FILE]: null, 'stacks/instances/shop.yml': 'x: 1\n' }],
    ['nothing left', { [SHOP_FILE]: null, [BLOG_FILE]: null }],
  ])('with %s has that mistake already', async (_, changes) => {
    const repository = await emptyRepository();
    await repository.commit(SHOP);
    const wrong = await repository.commit(changes);
    await repository.commit(DEBUG, { branch: 'branch', parents: [wrong] });
    const plan = await planAt(repository.path);
    expect(plan.problems).toEqual([]);
    expect(plan.knownProblems).toBeGreaterThan(0);
    expect(plan.invalid).toEqual([]);
  });

  it('with a wrong tree counts as the commit before it', async () => {
    const repository = await emptyRepository();
    await repository.commit(SHOP);
    const wrong = await repository.commit({ 'tree.yaml': 'name: [' });
    await repository.commit({ 'tree.yaml': SHOP['tree.yaml'], ...GROWN }, { branch: 'branch', parents: [wrong] });
    expect(actionsIn(await planAt(repository.path))).toEqual(GROWTH);
  });

  it('without a layout makes everything new', async () => {
    const repository = await emptyRepository();
    const first = await repository.commit({ README: 'nothing yet' });
    await repository.commit(SHOP, { branch: 'branch', parents: [first] });
    const plan = await planAt(repository.path);
    expect(plan.changes).toHaveLength(6);
    expect(plan).toMatchObject({ problems: [], held: null });
  });
});

describe('a protected instance', () => {
  it('loses nothing by a merge of a branch that lifts the protection first', async () => {
    const repository = await emptyRepository();
    const first = await repository.commit({ ...SHOP, [BLOG_FILE]: `${SHOP[BLOG_FILE]}protected: true\n` });
    const lift = await repository.commit({ [BLOG_FILE]: SHOP[BLOG_FILE] }, { branch: 'branch', parents: [first] });
    await repository.commit({ [BLOG_FILE]: null }, { branch: 'branch', parents: [lift] });
    await repository.commit({ 'types/zone/x.yaml': '{}\n' });
    const plan = await planAt(repository.path);
    expect(actionsIn(plan)).toEqual([]);
    expect(plan.problems).toMatchObject([{ code: 'protected_instance' }]);
  });
});

describe('deletes', () => {
  it('that a trailer of the branch allows are not held', async () => {
    const { repository, first } = await branched();
    const removed = { branch: 'branch', parents: [first] };
    await repository.commit({ [BLOG_FILE]: null }, { ...removed, message: 'Remove\n\nTreeline-Approve-Deletes: 2\n' });
    expect((await planAt(repository.path, { budget: 1 })).held).toBeNull();
  });

  it.each([
    ['that a trailer of the branch allows are not held by the controller', {}, null],
    ['are held during a recovery, whatever the trailer', { isRecovering: true }, { deletes: 2 }],
  ] as const)('%s', async (_what, behind, held) => {
    const { repository, first } = await branched();
    const message = 'Remove\n\nTreeline-Approve-Deletes: 2\n';
    await repository.commit({ [BLOG_FILE]: null }, { branch: 'branch', parents: [first], message });
    const opened = await openLocalRepository(repository.path);
    onTestFinished(() => opened.close());
    const core = new Core();
    core.source.commit(SHOP);
    await core.poll();
    const recorded: RecordedState = { ...core.operator.recorded(), commit: first, ...behind };
    const problems = { commit: first, problems: [] };
    const plan = await planOnRecorded(opened, { recorded, problems, budget: 0, head: 'branch' });
    if (held === null) expect(plan).toMatchObject({ held: null, safety: [{ field: 'Treeline-Approve-Deletes' }] });
    else expect(plan).toMatchObject({ held, safety: [] });
  });

  it('that are open at base are allowed by a trailer too: it is shown, also where the files do not change', async () => {
    const { repository, first } = await branched();
    const message = 'Fix a typo\n\nTreeline-Approve-Deletes: 99\n';
    await repository.commit({ README: 'x' }, { branch: 'branch', parents: [first], message });
    const plan = await planAt(repository.path);
    expect(plan.safety).toEqual([{ object: 'commits', field: 'Treeline-Approve-Deletes', from: null, to: 99 }]);
    expect(hasNoEffect(plan)).toBe(false);
  });
});

describe('servers that go wait', () => {
  const BLOG_SERVERS = ['delete blog-db', 'delete blog-web-1'];

  it.each([
    ['stacks/instances/blog.txt', 'x'],
    ['archive/blog.yaml', SHOP[BLOG_FILE]],
  ])('if their file may have become %s', async (path, text) => {
    const { repository, first } = await branched();
    await repository.commit({ [BLOG_FILE]: null, [path]: text }, { branch: 'branch', parents: [first] });
    const plan = await planAt(repository.path);
    expect(actionsIn(plan)).toEqual(BLOG_SERVERS);
    expect(plan.held).toMatchObject({ kind: 'unreadable', instances: ['blog'], deletes: 2 });
    expect(plan.held?.reason).toContain(path);
  });

  it('not if it is elsewhere', async () => {
    const { repository, first } = await branched();
    const moved = { [BLOG_FILE]: null, 'archive/blog.yaml': '# retired\n' };
    await repository.commit(moved, { branch: 'branch', parents: [first] });
    const plan = await planAt(repository.path);
    expect(actionsIn(plan)).toEqual(BLOG_SERVERS);
    expect(plan.held).toBeNull();
  });
});

describe('a repository', () => {
  it('may hold the layout below its root, in a commit that is not checked out', async () => {
    const repository = await emptyRepository({ bare: false });
    const below = (files: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
      Object.fromEntries(Object.entries(files).map(([path, text]) => [`infra/stacks/${path}`, text]));
    const first = await repository.commit({ ...below(SHOP), 'main.c': '1' });
    await repository.commit({ ...below(GROWN), 'main.c': '2' }, { branch: 'branch', parents: [first] });
    await repository.commit({ 'main.c': '3' });

    const plan = await planAt(join(repository.path, 'infra/stacks'));

    expect(existsSync(join(repository.path, 'infra'))).toBe(false);
    expect(actionsIn(plan)).toEqual(GROWTH);
    expect(plan.changes[1]?.file).toBe(SHOP_FILE);
    expect(plan.problems).toEqual([]);
  });

  it('is not what a commit has put into the folder of the layout', async () => {
    const repository = await emptyRepository({ bare: false });
    const below = (files: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
      Object.fromEntries(Object.entries(files).map(([path, text]) => [`infra/${path}`, text]));
    const first = await repository.commit(below(SHOP));
    // With another layout at the root, and the commit before it as base, such a repository would have no effect.
    const grown = await repository.commit({ ...below(GROWN), ...SHOP }, { branch: 'branch', parents: [first] });
    const inside = { HEAD: 'ref: refs/heads/main\n', 'refs/heads/main': grown };
    const head = await repository.commit(
      below({ ...inside, config: '[core]\n', 'objects/info/alternates': '../../.git/objects\n' }),
      { branch: 'branch', parents: [grown] },
    );
    await repository.git('checkout', '--quiet', 'branch');
    expect(actionsIn(await planAt(join(repository.path, 'infra'), { head }))).toEqual(GROWTH);
  });

  it('may be a bare one that the repository around it does not have', async () => {
    const around = await emptyRepository({ bare: false });
    await around.commit({ 'main.c': '1' });
    const repository = await createGitRepository(join(around.path, 'stacks.git'));
    const first = await repository.commit(SHOP);
    await repository.commit(GROWN, { branch: 'branch', parents: [first] });
    expect(actionsIn(await planAt(repository.path))).toEqual(GROWTH);
  });

  it('runs no program that its configuration names', async () => {
    const { repository, first } = await branched({ bare: false });
    await repository.commit(GROWN, { branch: 'branch', parents: [first] });
    const clone = join(temporaryDirectory(), 'partial');
    await repository.git('config', 'uploadpack.allowFilter', 'true');
    await runGit(['clone', '--quiet', '--no-checkout', '--filter=blob:none', `file://${repository.path}`, clone]);
    const program = join(temporaryDirectory(), 'program.sh');
    const ran = `${program}.ran`;
    writeFileSync(program, `#!/bin/sh\ntouch ${ran}\nexit 1\n`);
    chmodSync(program, 0o755);
    for (const [key, value] of [
      ['remote.origin.uploadpack', program],
      ['remote.origin.url', `ssh://127.0.0.1${repository.path}`],
      ...['core.sshCommand', 'core.fsmonitor', 'core.pager', 'core.editor', 'core.alternateRefsCommand'].map((name) => [
        name,
        program,
      ]),
      ['core.hooksPath', join(program, '..')],
    ] as const) {
      execFileSync('git', ['-C', clone, 'config', key ?? '', value ?? '']);
    }
    await expect(planAt(clone, { base: 'origin/main', head: 'origin/branch' })).rejects.toThrow(
      /a clone with --filter lacks files/,
    );
    expect(existsSync(ran)).toBe(false);
  });
});

describe('a plan that cannot be made', () => {
  it('says so of a revision that git does not know, or that is none', async () => {
    const { repository } = await branched();
    for (const [head, words] of [
      ['nowhere', /there is no commit "nowhere" in .*: "git fetch" brings/],
      ['-x', /"-x" is no revision of git/],
      ['main\n', /is no revision of git/],
      ['', /"" is no revision of git/],
      ['main^{tree}', /there is no commit/],
      ['main..branch', /there is no commit/],
      ['0'.repeat(40), /there is no commit/],
    ] as const) {
      await expect(planAt(repository.path, { head })).rejects.toThrow(words);
    }
  });

  it('says so where two histories are unrelated', async () => {
    const { repository } = await branched();
    await repository.commit(GROWN, { branch: 'branch', parents: [] });
    await expect(planAt(repository.path)).rejects.toThrow(/have no commit in common: their histories are unrelated/);
  });

  it('says so of a shallow clone', async () => {
    const { repository, first } = await branched();
    await repository.commit(GROWN, { branch: 'branch', parents: [first] });
    await repository.commit({ 'types/zone/x.yaml': 'log: a\n' });
    const clone = join(temporaryDirectory(), 'clone');
    await runGit(['clone', '--quiet', '--depth=1', '--no-single-branch', `file://${repository.path}`, clone]);
    await expect(planAt(clone, { base: 'origin/main', head: 'origin/branch' })).rejects.toThrow(/"fetch-depth: 0"/);
  });

  it('says so where no commit has a layout in the directory', async () => {
    const { repository, first } = await branched({ bare: false });
    await repository.commit(GROWN, { branch: 'branch', parents: [first] });
    await expect(planAt(join(repository.path, 'stacks'))).rejects.toThrow(
      'neither commit has tree.yaml in "stacks/": name the directory where the layout begins',
    );
  });

  it('says so outside of a repository', async () => {
    await expect(planAt('/')).rejects.toThrow(/there is no Git repository at or above/);
  });
});
