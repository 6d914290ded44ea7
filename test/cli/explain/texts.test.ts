// Compares what `treeline explain` prints in a directory with texts.txt, which is read as the person that asks. Each entry
// is a command line and its output. `UPDATE_GOLDEN=1 npx vitest run test/cli/explain` writes it anew.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Command } from 'commander';
import { describe, expect, it, vi } from 'vitest';
import { CommandFailure } from '../../../src/cli/command-failure.ts';
import { addExplainCommand } from '../../../src/cli/explain-command.ts';
import type { NodeExplanation } from '../../../src/model/explanation.ts';
import { createGitRepository, type GitRepository, runGit } from '../../support/git-repository.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const GOLDEN = new URL('texts.txt', import.meta.url);

const INSTANCE = 'stacks/instances/shop.yaml';
const TEMPLATE = 'stacks/templates/shop.yaml';

const FIRST = {
  'tree.yaml': 'name: global\ntype: common\nchildren: [{ name: prod, type: environment }]\n',
  'hierarchy.yaml': `order: [common, environment, { type: configuration, name: "<<environment>>-<<role>>" }, role]
merge: { packages: unique }
`,
  'clients/A1.yaml': 'role: administrator\n',
  'types/common/global.yaml': 'level: info\npackages: [curl]\nproxy: cache:3128\nadmin_password: hunter2\n',
  'types/role/web.yaml': 'port: 80\npackages: [nginx, curl]\n',
  [TEMPLATE]: `parameters: { count: "2", level: "" }
resources:
  web:
    type: Platform::ResourceGroup
    properties:
      count: "<<count>>"
      resource_def:
        properties:
          environment: prod
          role: web
          level: "<<level>>"
`,
  [INSTANCE]: 'stackTemplate: shop\nparameters:\n  level: warning\n',
};

/** A secret was written down, and a rule for it came later. */
const SECOND = {
  'types/common/global.yaml': 'level: info\npackages: [chrony]\nproxy: cache:3128\nadmin_password: secret/admin\n',
  'hierarchy.yaml': `${FIRST['hierarchy.yaml']}secrets: { keys: ["_password$"], reference: "^secret/" }\n`,
};

/** The third commit is that of the branch, and the directory differs from it. */
const THIRD = {
  'types/environment/prod.yaml': 'proxy: null\nlong: ["0123456789", "0123456789012345", "01234567890123456789"]\n',
};
const NOT_COMMITTED = {
  [INSTANCE]: 'stackTemplate: shop\nparameters:\n  level: debug\n  count: "3"\n',
  'types/clientcert/shop-web-2.yaml': 'port: 8080\ncolor: "red\\u001b[31m"\n',
};

function write(directory: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
}

/** A work tree with three commits, and changes that are not committed. */
async function workTree(): Promise<GitRepository> {
  const repository = await createGitRepository(join(temporaryDirectory(), 'stacks'), { bare: false });
  for (const files of [FIRST, SECOND, THIRD]) await repository.commit(files);
  await repository.git('tag', 'v1', 'main~2');
  for (const files of [FIRST, SECOND, THIRD, NOT_COMMITTED]) write(repository.path, files);
  return repository;
}

/** Runs the command in this process, and returns what it prints, or why it fails. */
async function explain(directory: string, args: string): Promise<string> {
  const printed: string[] = [];
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed.push(String(text));
    return true;
  });
  const program = new Command('treeline').exitOverride().configureOutput({ writeErr: () => undefined });
  addExplainCommand(program);
  try {
    await program.parseAsync(['explain', ...args.split(' '), '--dir', directory], { from: 'user' });
    return printed.join('');
  } catch (error) {
    if (error instanceof CommandFailure) return `treeline: ${error.message.replaceAll(directory, '(directory)')}\n`;
    throw error;
  } finally {
    spy.mockRestore();
  }
}

const ASKED: readonly string[] = [
  'shop-web-1 level',
  'shop-web-2 port',
  'shop-web-2 color',
  'shop-web-1 packages',
  'shop-web-1 proxy',
  'shop-web-1 long',
  'shop-web-1 description',
  'shop-web-1',
  'shop-web-11',
  'shop-web-1 prot',
  'shop-web-1 --server https://localhost:1',
];

describe('treeline explain', () => {
  it('prints the texts of texts.txt', async () => {
    const { path } = await workTree();
    const entries: string[] = [];
    for (const args of ASKED) {
      const text = (await explain(path, args)).replace(/(?<=last_stack_update = )".*"/, '"(now)"');
      entries.push(`$ treeline explain ${args}\n${text}`);
    }
    const all = entries.join('\n');
    if (process.env.UPDATE_GOLDEN === '1') writeFileSync(GOLDEN, all);
    expect(all).toBe(readFileSync(GOLDEN, 'utf8'));
    expect(all).not.toContain('hunter2');
  });

  it('names a shallow clone without the commit, and the remedy', async () => {
    const { path } = await workTree();
    const clone = join(temporaryDirectory(), 'clone');
    await runGit(['clone', '--quiet', '--depth=2', '--branch=main', `file://${path}`, clone]);
    const text = await explain(clone, 'shop-web-1 level');
    expect(text).toMatch(/ types\/environment\/prod\.yaml +[0-9a-f]{7,} /);
    expect(text).toMatch(/ stacks\/templates\/shop\.yaml:11 +older than this shallow clone: git fetch --unshallow\n/);
    expect(text).not.toContain('20000 commits');
  });

  it('prints the same as JSON', async () => {
    const { path, git } = await workTree();
    const explained = JSON.parse(await explain(path, 'shop-web-1 level --format json')) as NodeExplanation;
    expect(explained).toMatchObject({ node: 'shop-web-1', commit: null, isWanted: true, stackInstance: ['shop'] });
    expect(explained.keys.level?.statements[0]).toEqual({
      layer: 2,
      value: 'debug',
      effect: 'used',
      at: { file: TEMPLATE, line: 11 },
      suppliedAt: { file: INSTANCE, line: 3 },
    });
    expect(explained.files[INSTANCE]).toEqual({ commit: null, time: null, note: 'not committed' });
    expect(explained.files[TEMPLATE]?.commit).toBe(await git('rev-parse', 'v1'));
  });

  it('shows no commits without a repository', async () => {
    const directory = temporaryDirectory();
    write(directory, FIRST);
    expect(await explain(directory, 'shop-web-1 port')).toMatch(/role web +80 /);
    expect(await explain(directory, 'shop-web-1 port')).not.toMatch(/[0-9a-f]{12} 20/);
  });

  it('finds the commits of a layout below the root of a repository', async () => {
    const root = await createGitRepository(join(temporaryDirectory(), 'all'), { bare: false });
    const below = Object.fromEntries(Object.entries(FIRST).map(([path, text]) => [`ops/stacks/${path}`, text]));
    const first = await root.commit({ ...below, 'types/role/web.yaml': 'port: 1\n' });
    const second = await root.commit({
      'ops/stacks/types/role/web.yaml': 'port: 81\n',
      'types/role/web.yaml': 'port: 2\n',
    });
    write(root.path, { ...below, 'ops/stacks/types/role/web.yaml': 'port: 81\n' });
    const directory = join(root.path, 'ops/stacks');
    const { files } = JSON.parse(await explain(directory, 'shop-web-1 --format json')) as NodeExplanation;
    expect([files['types/role/web.yaml']?.commit, files[TEMPLATE]?.commit]).toEqual([second, first]);
  });

  it('reports a repository without commits', async () => {
    const { path } = await createGitRepository(join(temporaryDirectory(), 'stacks'), { bare: false });
    write(path, FIRST);
    expect(await explain(path, 'shop-web-1 port')).toMatch(/role web .* types\/role\/web\.yaml:1 +not committed\n/);
  });

  it('names the problem if the instance, or all of the directory, is wrong', async () => {
    const { path } = await workTree();
    write(path, { 'types/role/web.yaml': 'environment: prod\n', 'types/clientcert/shop-web-1.yaml': 'port: 8080\n' });
    expect(await explain(path, 'shop-web-1')).toMatch(
      /^treeline: shop-web-1 cannot be explained before its instance is corrected:\ntypes\/role\/web\.yaml:1:1: error: /,
    );
    write(path, { 'tree.yaml': 'name: [\n' });
    expect(await explain(path, 'shop-web-1')).toMatch(
      /^treeline: nothing can be explained in the directory before this is corrected:\ntree\.yaml:/,
    );
  });
});
