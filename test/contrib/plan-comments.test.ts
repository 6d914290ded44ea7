// Runs the plan jobs of the pipelines of contrib/: real commits, the real command, and the comment on a local API.
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { run } from '../support/command-line.ts';
import { itInFull } from '../support/count-runs.ts';
import { prepareOnce } from '../support/prepared-folder.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { type CommentApi, startCommentApi, WRITE_TOKEN } from './comment-api.ts';
import { edit, pipeline, repository, STAGING, shell } from './pipeline-run.ts';

/** A name that git allows, and that a shell would run a command of where it is not quoted. */
const BASE_BRANCH = 'main-$(>owned)-`>owned`;>owned';
const MARKER = '<!-- treeline-plan -->';
const SUMMARY = 'summary.md';
/** Comments that others have written, more than a page of the API has. */
const STRANGERS = 120;

/** A pipeline that runs in a clone: what its plan job does for a pull request. */
interface Platform {
  readonly name: 'github' | 'gitlab';
  readonly author: string;
  /** Plans and comments; with the code and the output of the job. */
  readonly runJob: (clone: Clone, api: CommentApi, token: string) => Promise<JobResult>;
}

interface Clone {
  readonly directory: string;
  /** Where the runner keeps files of the job. */
  readonly temporary: string;
}

interface JobResult {
  readonly code: number;
  readonly output: string;
}

interface Workflow {
  readonly jobs: {
    readonly plan: {
      readonly steps: readonly { readonly name?: string; readonly run?: string; readonly shell?: string }[];
    };
  };
}

const GITHUB: Platform = {
  name: 'github',
  author: 'github-actions[bot]',
  async runJob({ directory, temporary }, api, token) {
    const { steps } = pipeline<Workflow>('github-actions/treeline.yaml').jobs.plan;
    const plan = steps.find(({ name }) => name === 'Plan')?.run ?? '';
    const comment = steps.find(({ name }) => name === 'Comment')?.run ?? '';
    const summary = join(temporary, SUMMARY);
    writeFileSync(summary, '');
    const env = {
      GITHUB_BASE_REF: BASE_BRANCH,
      HEAD: await commitOf(directory),
      RUNNER_TEMP: temporary,
      GITHUB_STEP_SUMMARY: summary,
      GITHUB_API_URL: api.url,
      GITHUB_REPOSITORY: 'org/stacks',
      NUMBER: '7',
      TOKEN: token,
    };
    const planned = await shell(plan, directory, env);
    const script = join(temporary, 'step');
    writeFileSync(script, comment);
    const commented = await run(process.execPath, [script], { cwd: directory, env });
    const output = planned.stdout + planned.stderr + commented.stdout + commented.stderr;
    return { code: planned.code === 0 ? commented.code : planned.code, output };
  },
};

const GITLAB: Platform = {
  name: 'gitlab',
  author: 'project_3_bot',
  async runJob({ directory }, api, token) {
    const { script } = pipeline<{ readonly 'treeline-plan': { readonly script: readonly string[] } }>(
      'gitlab-ci/treeline.gitlab-ci.yml',
    )['treeline-plan'];
    const { code, stdout, stderr } = await shell(script.join('\n'), directory, {
      CI_MERGE_REQUEST_DIFF_BASE_SHA: await commitOf(directory, `origin/${BASE_BRANCH}`),
      CI_COMMIT_SHA: await commitOf(directory),
      CI_API_V4_URL: api.url,
      CI_MERGE_REQUEST_PROJECT_ID: '3',
      CI_MERGE_REQUEST_IID: '7',
      TREELINE_COMMENT_TOKEN: token,
    });
    return { code, output: stdout + stderr };
  },
};

async function commitOf(directory: string, revision = 'HEAD'): Promise<string> {
  return (await run('git', ['rev-parse', revision], { cwd: directory })).stdout.trim();
}

/** A clone with the base branch, and on top of it a commit with one more web server. */
async function clone(): Promise<Clone> {
  const directory = temporaryDirectory();
  await copyClone(directory);
  return { directory, temporary: temporaryDirectory() };
}

const copyClone = prepareOnce(async (directory) => {
  cpSync(await repository(), directory, { recursive: true });
  await git(directory, 'git commit --quiet --message base && git update-ref "refs/remotes/origin/$BRANCH" HEAD');
  await change(directory, ['web_count: "2"', 'web_count: "3"']);
});

async function change(directory: string, replacement: readonly [from: string, to: string]): Promise<void> {
  edit(directory, STAGING, replacement);
  await git(directory, 'git add stacks && git commit --quiet --message change');
}

async function git(directory: string, script: string): Promise<void> {
  expect(await shell(script, directory, { BRANCH: BASE_BRANCH })).toMatchObject({ code: 0 });
}

describe.each([GITHUB, GITLAB])('the plan job on $name', ({ name, author, runJob }) => {
  itInFull('writes one comment after many others, and updates it in place', async () => {
    const api = await startCommentApi(name, author);
    const stacks = await clone();
    for (let id = 1; id <= STRANGERS; id += 1) api.comments.push({ id, author: 'stranger', body: `${MARKER}\n\nmine` });
    const own = (): readonly string[] => api.comments.slice(STRANGERS).map(({ body }) => body);
    expect(await runJob(stacks, api, WRITE_TOKEN)).toMatchObject({ code: 0 });
    expect(own()).toEqual([expect.stringMatching(/^### Treeline plan: 1 update, 1 create,/m)]);
    expect(own()[0]?.split('\n')[0]).toBe(MARKER);

    await change(stacks.directory, ['web_count: "3"', 'web_count: "4"']);
    expect(await runJob(stacks, api, WRITE_TOKEN)).toMatchObject({ code: 0 });
    expect(own()).toEqual([expect.stringMatching(/^### Treeline plan: 1 update, 2 creates,/m)]);

    const writes = (): number => api.requests.filter((request) => !request.startsWith('GET ')).length;
    expect(writes()).toBe(2);
    expect(await runJob(stacks, api, WRITE_TOKEN)).toMatchObject({ code: 0 });
    expect(writes()).toBe(2);
    expect(api.comments.slice(0, STRANGERS).every(({ body }) => body.endsWith('mine'))).toBe(true);
    expect(existsSync(join(stacks.directory, 'owned'))).toBe(false);
  });

  it('fails if the commits have errors, but comments', async () => {
    const api = await startCommentApi(name, author);
    const stacks = await clone();
    await change(stacks.directory, ['stackTemplate: shop', 'stackTemplate: shpo']);
    expect(await runJob(stacks, api, WRITE_TOKEN)).toMatchObject({ code: 1 });
    expect(api.comments[0]?.body).toContain(`\`${STAGING}:5:16\``);
  });

  itInFull('does not fail if its token may not write, and leaves the plan elsewhere', async () => {
    const api = await startCommentApi(name, author);
    const stacks = await clone();
    const { code, output } = await runJob(stacks, api, 'may-read');
    expect(code).toBe(0);
    expect(output).toMatch(/POST of the comment: 403\. The plan is in the /);
    expect(api.comments).toEqual([]);
    const kept = name === 'github' ? join(stacks.temporary, SUMMARY) : join(stacks.directory, 'treeline-plan.md');
    expect(readFileSync(kept, 'utf8')).toContain('### Treeline plan: 1 update, 1 create,');
  });
});

itInFull('on gitlab shows nothing of the runner if the report is a link', async () => {
  const api = await startCommentApi('gitlab', GITLAB.author);
  const stacks = await clone();
  await git(
    stacks.directory,
    'ln -s /proc/self/environ treeline-plan.md && git add . && git commit --quiet --message link',
  );
  const { code } = await GITLAB.runJob(stacks, api, WRITE_TOKEN);
  expect(api.comments.filter(({ body }) => body.includes(WRITE_TOKEN))).toEqual([]);
  expect(api.comments.map(({ body }) => body.split('\n')[0])).toEqual([MARKER]);
  expect(code).toBe(0);
});
