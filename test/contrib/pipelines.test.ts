// Runs what the pipelines and hooks of contrib/ run, in a copy of sample-repo.
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { run } from '../support/command-line.ts';
import { CONTRIB, edit, pipeline, repository, STAGING, shell } from './pipeline-run.ts';

/** Makes the mistake that all of them find. */
function mistake(directory: string): void {
  edit(directory, STAGING, ['stackTemplate: shop', 'stackTemplate: shpo']);
}

interface Pipelines {
  readonly jobs: { readonly validate: { readonly steps: readonly { readonly run?: string }[] } };
  readonly 'treeline-validate': {
    readonly script: readonly string[];
    readonly artifacts: { readonly reports: { readonly codequality: string } };
  };
}

describe('contrib/github-actions', () => {
  const scripts = pipeline<Pipelines>('github-actions/treeline.yaml').jobs.validate.steps.flatMap(
    ({ run: script }) => script ?? [],
  );

  it('annotates a mistake on its line, and fails', async () => {
    expect(scripts).toHaveLength(1);
    const directory = await repository();
    expect(await shell(scripts.join('\n'), directory)).toMatchObject({ code: 0, stderr: '' });
    mistake(directory);
    const { code, stdout } = await shell(scripts.join('\n'), directory);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^::error file=stacks\/instances\/shop\/shop-staging\.yaml,line=5,col=16,title=unknown_template::/m,
    );
  });
});

describe('contrib/gitlab-ci', () => {
  const { script, artifacts } = pipeline<Pipelines>('gitlab-ci/treeline.gitlab-ci.yml')['treeline-validate'];

  it('fails with a mistake, and leaves the report', async () => {
    const directory = await repository();
    mistake(directory);
    const { code, stdout } = await shell(script.join('\n'), directory);
    expect(code).toBe(1);
    expect(stdout).toMatch(/shop-staging\.yaml:5:16: error/);
    const quality = JSON.parse(readFileSync(join(directory, artifacts.reports.codequality), 'utf8'));
    expect(quality).toHaveLength(1);
  });
});

describe('contrib/pre-commit', () => {
  it('refuses exactly mistakes that are staged', async () => {
    const directory = await repository();
    mkdirSync(join(directory, '.git/hooks'), { recursive: true });
    cpSync(join(CONTRIB, 'pre-commit/pre-commit'), join(directory, '.git/hooks/pre-commit'));
    const run = (script: string) => shell(script, directory);
    expect(await run('git commit --quiet --message first')).toMatchObject({ code: 0 });
    mistake(directory);
    writeFileSync(join(directory, 'types/zone/edge.yaml'), 'firewall: strict\n');
    expect(await run('git add types && git commit --quiet --message second')).toMatchObject({ code: 0 });
    const link = `160000,${'1'.repeat(40)},${STAGING}`;
    for (const [stage, message] of [
      ['git add --all', `${STAGING}:5:16: error: there is no stack template "shpo"`],
      // What stands in the folder is right.
      ['git rm --quiet --cached stacks/templates/shop.yaml', 'error: there is no stack template "shop"'],
      [`git rm --quiet --cached ${STAGING}; git update-index --add --cacheinfo ${link}`, 'submodule'],
    ]) {
      const { code, stdout, stderr } = await run(`${stage}; git commit --quiet --message third`);
      expect({ code, printed: stdout + stderr }).toEqual({ code: 1, printed: expect.stringContaining(message ?? '') });
      await run('git reset --quiet --hard');
    }
    expect((await run('git log --format=%s')).stdout).toBe('second\nfirst\n');
  });

  it('passes valid commits with the program pre-commit', async () => {
    const config = load(readFileSync(join(CONTRIB, 'pre-commit/pre-commit-config.yaml'), 'utf8')) as {
      readonly repos: readonly { readonly hooks: readonly Readonly<Record<string, unknown>>[] }[];
    };
    const hook = config.repos[0]?.hooks[0];
    // Without always_run, pre-commit skips a commit that only removes files.
    expect(hook).toMatchObject({ language: 'system', pass_filenames: false, always_run: true });
    // It starts the entry by words, as a shell takes them.
    expect(await shell(`exec ${String(hook?.entry)}`, await repository())).toMatchObject({ code: 0 });
  });
});

it('contrib/README.md names every file, or the README of its folder', async () => {
  const readme = readFileSync(join(CONTRIB, 'README.md'), 'utf8');
  const { stdout } = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard', '.'], {
    cwd: CONTRIB,
  });
  const files = stdout
    .split('\n')
    .filter((file) => file !== '' && file !== 'README.md' && existsSync(join(CONTRIB, file)));
  const folders = files.filter((file) => file.endsWith('/README.md')).map((file) => dirname(file));
  const named = files.map((file) => {
    const folder = folders.find((one) => file.startsWith(`${one}/`));
    return folder === undefined ? file : `${folder}/README.md`;
  });
  expect(named.filter((file) => !readme.includes(`](${file})`))).toEqual([]);
});
