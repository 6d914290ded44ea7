// Pushing to a local repository: git itself locks, runs hooks, and refuses what its owner does not want.

import { readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createGitPublisher } from '../../src/repository/git-publisher.ts';
import { createGitSource, type GitSourceOptions } from '../../src/repository/git-source.ts';
import type { NewCommit, PreparedCommits, Publisher, PushOutcome } from '../../src/repository/publisher.ts';
import { fakeSsh, OBEY } from '../support/fake-ssh.ts';
import {
  type Exchange,
  type GitHttpServer,
  type Misbehaviour,
  startGitHttpServer,
} from '../support/git-http-server.ts';
import { createGitRepository, type FileChanges, type GitRepository, runGit } from '../support/git-repository.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { NOW, newCommit } from '../support/new-commit.ts';
import { prepareOnce } from '../support/prepared-folder.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

type Options = Partial<GitSourceOptions> & { readonly url: string };
type Reach = (repository: GitRepository) => Options | Promise<Options>;

const OLD_FILES: FileChanges = { 'tree.yaml': 'name: all\n', 'stacks/instances/shop.yaml': 'template: web\n' };

/** Makes a repository with one commit, and a local copy that has it. Returns the commit. */
async function fillWith(folder: string, bare: boolean): Promise<string> {
  const repository = await createGitRepository(join(folder, 'stacks.git'), { bare });
  const base = await repository.commit(OLD_FILES);
  const place = { branch: 'main', directory: '.', cache: join(folder, 'cache') };
  const source = await createGitSource({ url: repository.path, ...place });
  await source.fetch(null);
  await source.close();
  return base;
}

const copyCommit = prepareOnce((folder) => fillWith(folder, true));

/** Returns a repository with one commit, which is here too. `reach` says how the publisher gets to it. */
async function publishTo(reach: Reach = ({ path }) => ({ url: path }), { bare = true } = {}) {
  const folder = temporaryDirectory();
  const cache = join(folder, 'cache');
  const base = bare ? await copyCommit(folder) : await fillWith(folder, false);
  const repository = await createGitRepository(join(folder, 'stacks.git'), { bare });
  const clock = new ManualClock(Date.parse(NOW));
  const place = { branch: 'main', directory: '.', cache };
  const source = await createGitSource({ ...place, ...(await reach(repository)) });
  const publisher = createGitPublisher({ source, clock });
  return {
    repository,
    source,
    publisher,
    cache,
    base,
    clock,
    /** Prepares one commit on the base that writes a file `new`. */
    prepare: () => prepareWith(publisher, base, [newCommit({ new: 'text\n' })]),
    /** Where a branch is, empty where there is none. */
    headOf: (branch = 'main') => repository.git('for-each-ref', '--format=%(objectname)', `refs/heads/${branch}`),
    /** Everything that git can check is right. */
    async expectIntact(): Promise<void> {
      expect(
        await runGit(['-C', repository.path, 'fsck', '--full', '--strict', '--no-progress', '--no-dangling']),
      ).toBe('');
    },
  };
}

/** Prepares commits, which has to succeed. */
async function prepareWith(
  publisher: Publisher,
  base: string,
  commits: readonly NewCommit[],
): Promise<PreparedCommits> {
  const prepared = await publisher.prepare(base, commits);
  if (prepared.is === 'prepared') return prepared;
  throw new Error(`${prepared.is}: ${prepared.reason}`);
}

/** Waits for a push and returns how it ended. */
async function endingOf(push: Promise<PushOutcome>) {
  const outcome = await push;
  return { is: outcome.is, message: 'reason' in outcome ? outcome.reason : '' };
}

afterEach(() => {
  vi.unstubAllEnvs();
});

async function hook(
  { repository }: { readonly repository: GitRepository },
  name: string,
  script: string,
): Promise<void> {
  const folder = join(await repository.git('rev-parse', '--absolute-git-dir'), 'hooks');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

describe('a local repository', () => {
  it('gets the commits once', async () => {
    const { publisher, prepare, headOf, expectIntact, repository, base } = await publishTo();
    const prepared = await prepare();
    expect(await publisher.push(prepared)).toEqual({ is: 'pushed' });
    expect(await headOf()).toBe(prepared.commits[0]);
    expect(await publisher.push(prepared)).toEqual({ is: 'pushed' });
    expect(await repository.git('rev-list', '--count', `${base}..main`)).toBe('1');
    await expectIntact();
  });

  it.each([
    ['has newer commits', [] as const],
    ['was rewritten', [{ parents: [] }] as const],
  ])('that %s is not changed', async (_, [options]) => {
    const { publisher, prepare, headOf, repository } = await publishTo();
    const theirs = await repository.commit({ theirs: '1' }, options);
    expect(await publisher.push(await prepare())).toEqual({ is: 'moved' });
    expect(await headOf()).toBe(theirs);
  });

  it('whose branch was set back is not changed, although a push would be a fast-forward', async () => {
    const { publisher, source, headOf, repository, base } = await publishTo();
    const later = await repository.commit({ later: '1' });
    await source.fetch(null);
    const prepared = await prepareWith(publisher, later, [newCommit({ a: '1' })]);
    await repository.git('update-ref', 'refs/heads/main', base);
    expect(await publisher.push(prepared)).toEqual({ is: 'moved' });
    expect(await headOf()).toBe(base);
  });

  it('without the branch does not get it back', async () => {
    const { publisher, prepare, headOf, repository } = await publishTo();
    await repository.git('update-ref', '-d', 'refs/heads/main');
    expect(await publisher.push(await prepare())).toEqual({ is: 'moved' });
    expect(await headOf()).toBe('');
  });

  it('that is missing or invalid is reported as not reached', async () => {
    const { publisher, prepare, repository } = await publishTo();
    const prepared = await prepare();
    await rm(repository.path, { recursive: true });
    expect(await endingOf(publisher.push(prepared))).toMatchObject({
      is: 'not sent',
      message: expect.stringMatching(/is not a Git repository/),
    });
    await mkdir(repository.path);
    expect(await endingOf(publisher.push(prepared))).toMatchObject({
      is: 'not sent',
      message: expect.stringMatching(/is not a Git repo/),
    });
  });
});

describe('two simultaneous pushes', () => {
  it('have one winner', async () => {
    const { publisher, base, repository, expectIntact } = await publishTo();
    const prepared = await Promise.all(
      ['a', 'b', 'c'].map((name) => prepareWith(publisher, base, [newCommit({ [name]: '1' })])),
    );
    const results = await Promise.all(prepared.map((each) => publisher.push(each)));
    expect(results.filter(({ is }) => is === 'pushed')).toHaveLength(1);
    const winner = prepared[results.findIndex(({ is }) => is === 'pushed')];
    expect(await repository.git('rev-list', `${base}..main`)).toBe(winner?.commits[0]);
    await expectIntact();
  });
});

describe('a work tree', () => {
  it('with the branch checked out refuses the push, with advice', async () => {
    const { publisher, prepare, headOf, base } = await publishTo(undefined, { bare: false });
    const { is, message } = await endingOf(publisher.push(await prepare()));
    expect(is).toBe('refused');
    expect(message).toMatch(/^"\S+" refuses the push \(branch is currently checked out\): /);
    expect(message).toContain('"git config receive.denyCurrentBranch updateInstead"');
    expect(await headOf()).toBe(base);
  });
});

describe('a hook', () => {
  it.each(['pre-receive', 'update'])('%s refuses with its own message', async (name) => {
    const published = await publishTo();
    const { publisher, prepare, headOf, base } = published;
    await hook(published, name, 'printf "\\033[31mno deploys\\033[0m\\n  on Fridays\\n" >&2; exit 1');
    const { is, message } = await endingOf(publisher.push(await prepare()));
    expect(is).toBe('refused');
    expect(message).toMatch(
      /\((pre-receive hook|hook) declined\): no deploys on Fridays( error: hook declined to update refs\/heads\/main)?$/,
    );
    expect(await headOf()).toBe(base);
  });

  it('sees the commits, and cannot disturb the push by its output', async () => {
    const published = await publishTo();
    const { publisher, prepare, headOf } = published;
    const seen = join(temporaryDirectory(), 'seen');
    await hook(
      published,
      'pre-receive',
      `read -r old new ref; git log -1 --format=%an "$new" > ${seen}; echo "$ref" >> ${seen}`,
    );
    await hook(published, 'post-receive', 'echo 0000unpack no; echo trouble >&2; exit 1');
    const prepared = await prepare();
    expect(await publisher.push(prepared)).toEqual({ is: 'pushed' });
    expect(await headOf()).toBe(prepared.commits[0]);
    expect(readFileSync(seen, 'utf8')).toBe('Deploy robot\nrefs/heads/main\n');
  });
});

describe('the environment of hooks', () => {
  it('lets git expand patterns of paths', async () => {
    const published = await publishTo();
    const { publisher, prepare, headOf, base } = published;
    await hook(published, 'update', 'test -z "$(git diff --name-only $2 $3 -- "*")"');
    expect(await endingOf(publisher.push(await prepare()))).toMatchObject({ is: 'refused' });
    expect(await headOf()).toBe(base);
  });
});

describe('a new branch', () => {
  const branch = 'treeline/instance-shop-0a1b';

  it('is created, also if the followed branch has newer commits', async () => {
    const { publisher, prepare, headOf, repository } = await publishTo();
    const theirs = await repository.commit({ theirs: '1' });
    const prepared = await prepare();
    expect(await publisher.push(prepared, branch)).toEqual({ is: 'pushed' });
    expect(await headOf(branch)).toBe(prepared.commits[0]);
    expect(await headOf()).toBe(theirs);
    expect(await publisher.push(prepared, branch)).toEqual({ is: 'pushed' });
  });

  it('never replaces an existing branch', async () => {
    const { publisher, prepare, headOf, base, repository } = await publishTo();
    await repository.git('branch', branch, 'main');
    const { is, message } = await endingOf(publisher.push(await prepare(), branch));
    expect({ is, message }).toMatchObject({
      is: 'refused',
      message: expect.stringMatching(/has another branch "treeline\/.*" already/),
    });
    expect(await headOf(branch)).toBe(base);
  });

  it.each(['', '../x', '-d'])('cannot have the name %j', async (name) => {
    const { publisher, prepare } = await publishTo();
    await expect(publisher.push(await prepare(), name)).rejects.toThrow(/is not a branch name/);
  });
});

describe('over HTTP', () => {
  async function publishOverHttp({ receivePack = true } = {}) {
    const { promise, resolve } = Promise.withResolvers<GitHttpServer>();
    const published = await publishTo(async ({ path }) => {
      const server = await startGitHttpServer({ repository: path, receivePack });
      resolve(server);
      return { url: server.url };
    });
    return { ...published, server: await promise };
  }

  /** Answers only requests of a push in another way. */
  function onPush(stage: Exchange['stage'], work: (exchange: Exchange) => unknown): Misbehaviour {
    return async (exchange) => {
      const isPush = exchange.stage === stage && exchange.request.url?.includes('receive-pack') === true;
      if (isPush) await work(exchange);
      return isPush;
    };
  }

  const status = (code: number) => (exchange: Exchange) => {
    exchange.request.resume();
    exchange.response.writeHead(code).end('no');
  };
  const hangUp = ({ request }: Exchange): void => void request.socket.destroy();

  it('is refused if the server accepts no pushes', async () => {
    const { publisher, prepare, headOf, base } = await publishOverHttp({ receivePack: false });
    expect(await endingOf(publisher.push(await prepare()))).toMatchObject({
      is: 'refused',
      message: expect.stringMatching(/may not be pushed to by this user/),
    });
    expect(await headOf()).toBe(base);
  });

  it.each<[string, Misbehaviour, string, RegExp]>([
    ['the server fails before it', onPush('advertisement', status(503)), 'not sent', /returned error: 503/],
    ['it is forbidden', onPush('advertisement', status(403)), 'refused', /may not be pushed to by this user/],
    ['the connection breaks before it', onPush('advertisement', hangUp), 'not sent', /cannot be pushed to/],
    [
      'the connection breaks while it is sent',
      onPush('result', hangUp),
      'unknown',
      /is not known whether .* took the push/,
    ],
    ['a gateway fails after it', onPush('result', status(502)), 'unknown', /it is not known whether/],
  ])('reports the right outcome if %s', async (_, misbehave, is, message) => {
    const { publisher, prepare, server, headOf, base } = await publishOverHttp();
    const prepared = await prepare();
    server.misbehave = misbehave;
    expect(await endingOf(publisher.push(prepared))).toEqual({ is, message: expect.stringMatching(message) });
    expect(await headOf()).toBe(base);
    server.misbehave = undefined;
    expect(await publisher.push(prepared)).toEqual({ is: 'pushed' });
  });

  it('is pushed if only the answer was lost, and unknown if the branch cannot be listed', async () => {
    const { publisher, prepare, server, headOf } = await publishOverHttp();
    const prepared = await prepare();
    server.misbehave = onPush('result', async (exchange) => {
      await exchange.answer();
      hangUp(exchange);
    });
    expect(await publisher.push(prepared)).toEqual({ is: 'pushed' });
    const next = await prepareWith(publisher, String(prepared.commits[0]), [newCommit({ next: '1' })]);
    let isLost = false;
    server.misbehave = async (exchange) => {
      const isPush = exchange.stage === 'result' && exchange.request.url?.includes('receive-pack') === true;
      if (isPush) await exchange.answer();
      isLost ||= isPush;
      if (isLost) hangUp(exchange);
      return isLost;
    };
    expect((await publisher.push(next)).is).toBe('unknown');
    expect(await headOf()).toBe(next.commits[0]);
  });
});

describe('over ssh', () => {
  const onPush = (script: string): string => `case "$*" in *receive-pack*) ${script} ;; esac\n${OBEY}`;

  it.each([
    ['pushed', OBEY, 'pushed'],
    ['refused with a key that may only read', onPush('echo "ERROR: The key is read only." >&2; exit 1'), 'refused'],
    ['not sent if the host hangs up', onPush('exit 255'), 'not sent'],
  ])('is %s', async (_, script, is) => {
    const ssh = await fakeSsh();
    const { publisher, prepare, headOf, base } = await publishTo(({ path }) => ({
      url: `ssh://git@git.example${path}`,
    }));
    const prepared = await prepare();
    await ssh.become(script);
    expect(await endingOf(publisher.push(prepared))).toMatchObject({ is });
    expect(await headOf()).toBe(is === 'pushed' ? prepared.commits[0] : base);
  });

  it('is pushed if the remote ends after the push without a report', async () => {
    await fakeSsh();
    const published = await publishTo(({ path }) => ({ url: `ssh://git@git.example${path}` }));
    await hook(published, 'post-receive', 'kill -9 $PPID');
    const prepared = await published.prepare();
    expect(await published.publisher.push(prepared)).toEqual({ is: 'pushed' });
    expect(await published.headOf()).toBe(prepared.commits[0]);
  });
});
