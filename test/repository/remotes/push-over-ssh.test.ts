// Pushing over ssh, with a program in the place of ssh that runs the command here.
import { existsSync } from 'node:fs';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type FakeSsh, fakeSsh, OBEY } from '../../support/fake-ssh.ts';
import {
  endingOf,
  newCommit,
  type PublishedOptions,
  type PublishedRepository,
  prepareWith,
  publishTo,
} from '../../support/published-repository.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

interface PublishedOverSsh extends PublishedRepository {
  readonly ssh: FakeSsh;
}

/** Runs the command without input, and lets only so many bytes of its answer through. */
const CUT = (bytes: number): string => `for command; do :; done\nsh -c "$command" </dev/null | head -c ${bytes}`;

afterEach(() => {
  vi.unstubAllEnvs();
});

async function publishOverSsh(options?: PublishedOptions): Promise<PublishedOverSsh> {
  const ssh = await fakeSsh();
  const published = await publishTo(({ path }) => ({ url: `ssh://git@git.example:2222${path}` }), options);
  return { ...published, ssh };
}

describe('a push over ssh', () => {
  it('is there, and leaves nothing behind here', async () => {
    const { publisher, prepare, headOf, expectIntact, cache, ssh, repository } = await publishOverSsh();
    const prepared = await prepare();
    expect(await publisher.push(prepared)).toEqual({ is: 'pushed' });
    expect(await headOf()).toBe(prepared.commits[0]);
    expect(await readdir(cache)).toEqual(['repository.git']);
    expect(ssh.calls()).toHaveLength(1);
    expect(ssh.calls()[0]).toContain('-o BatchMode=yes -o ConnectTimeout=15');
    expect(ssh.calls()[0]).toContain(`-p 2222 git@git.example git-receive-pack '${repository.path}'`);
    expect(await publisher.push(prepared)).toEqual({ is: 'pushed' });
    await expectIntact();
  });

  it('brings many commits at once, to a branch of its own too', async () => {
    const { publisher, base, headOf, repository } = await publishOverSsh();
    const prepared = await prepareWith(
      publisher,
      base,
      Array.from({ length: 50 }, (_, n) => newCommit({ [`f${n}`]: 'x' })),
    );
    expect(await publisher.push(prepared, 'treeline/x')).toEqual({ is: 'pushed' });
    expect(await headOf('treeline/x')).toBe(prepared.commits.at(-1));
    expect(await publisher.push(prepared)).toEqual({ is: 'pushed' });
    expect(await repository.git('rev-list', '--count', `${base}..main`)).toBe('50');
  });

  it.each([
    ['went on', 'commit'],
    ['went back', 'reset'],
    ['is gone', 'delete'],
  ])('to a branch that %s leaves it', async (_, what) => {
    const { publisher, source, repository, headOf, base } = await publishOverSsh();
    const later = await repository.commit({ later: '1' });
    await source.fetch(null);
    const prepared = await prepareWith(publisher, later, [newCommit({ a: '1' })]);
    if (what === 'commit') await repository.commit({ theirs: '1' });
    else if (what === 'reset') await repository.git('update-ref', 'refs/heads/main', base);
    else await repository.git('update-ref', '-d', 'refs/heads/main');
    const before = await headOf();
    expect(await publisher.push(prepared)).toEqual({ is: 'moved' });
    expect(await headOf()).toBe(before);
  });

  it('that others overtake while git is at it leaves theirs', async () => {
    const { publisher, prepare, repository, base, headOf } = await publishOverSsh();
    const flag = join(temporaryDirectory(), 'flag');
    const script = `#!/bin/sh\ntouch ${flag}; while [ -e ${flag} ]; do sleep 0.02; done\n`;
    await writeFile(join(repository.path, 'hooks', 'pre-receive'), script, { mode: 0o755 });
    const push = publisher.push(await prepare());
    await expect.poll(() => existsSync(flag)).toBe(true);
    const theirs = await repository.git('commit-tree', `${base}^{tree}`, '-p', base, '-m', 'theirs');
    await repository.git('update-ref', 'refs/heads/main', theirs);
    await rm(flag);
    expect(await push).toEqual({ is: 'moved' });
    expect(await headOf()).toBe(theirs);
  });

  it('never takes the place of another branch', async () => {
    const { publisher, prepare, repository, headOf, base } = await publishOverSsh();
    await repository.git('branch', 'treeline/x', 'main');
    const ending = await endingOf(publisher.push(await prepare(), 'treeline/x'));
    expect(ending).toMatchObject({ is: 'refused', message: expect.stringMatching(/has another branch "treeline\/x"/) });
    expect(await headOf('treeline/x')).toBe(base);
  });
});

describe('a host that refuses', () => {
  it('by a hook, in its words', async () => {
    const { publisher, prepare, repository, headOf, base } = await publishOverSsh();
    const script = '#!/bin/sh\necho "no deploys" >&2; echo "on Fridays" >&2\nexit 1\n';
    await writeFile(join(repository.path, 'hooks', 'pre-receive'), script, { mode: 0o755 });
    const { is, message } = await endingOf(publisher.push(await prepare()));
    expect(is).toBe('refused');
    expect(message).toMatch(
      /\(pre-receive hook declined\): a hook of the repository has refused it: no deploys on Fridays$/,
    );
    expect(await headOf()).toBe(base);
  });

  it('because the branch is checked out', async () => {
    const { publisher, prepare } = await publishOverSsh({ bare: false });
    const { is, message } = await endingOf(publisher.push(await prepare()));
    expect({ is, message }).toMatchObject({ is: 'refused', message: expect.stringMatching(/denyCurrentBranch/) });
  });

  it.each([
    'ERROR: Permission to infra/stacks.git denied to deploy key',
    'ERROR: The key you are authenticating with has been marked as read only.',
    'GitLab: You are not allowed to push code to this project.',
  ])('the key: %s', async (words) => {
    const { publisher, prepare, ssh } = await publishOverSsh();
    await ssh.become(`echo "${words}" >&2; exit 1`);
    const { is, message } = await endingOf(publisher.push(await prepare()));
    expect(is).toBe('refused');
    expect(message).toMatch(/cannot be pushed to with this key: allow it there to write/);
    expect(message).toContain(words);
  });
});

describe('a connection that fails', () => {
  it.each<[string, string, string, RegExp]>([
    [
      'with the key',
      'echo "git@x: Permission denied (publickey)." >&2; exit 255',
      'not sent',
      /does not accept the key/,
    ],
    ['at once', 'exit 255', 'not sent', /broke off|could not read/],
    [
      'to find git',
      "echo 'bash: line 1: git-receive-pack: command not found' >&2; exit 127",
      'not sent',
      /git is not installed/,
    ],
    ['with nonsense', 'echo "Welcome to the machine"; exit 0', 'not sent', /could not read|cannot be pushed to/],
    ['in the advertisement', CUT(30), 'not sent', /could not read|cannot be pushed to/],
  ])('%s before anything is sent', async (_, script, is, message) => {
    const { publisher, prepare, ssh, headOf, base, cache } = await publishOverSsh();
    const prepared = await prepare();
    await ssh.become(script);
    expect(await endingOf(publisher.push(prepared))).toEqual({ is, message: expect.stringMatching(message) });
    expect(await headOf()).toBe(base);
    expect(await readdir(cache)).toEqual(['repository.git']);
    await ssh.become(OBEY);
    expect(await publisher.push(prepared)).toEqual({ is: 'pushed' });
  });

  it('after the push, before its report, leaves open what happened', async () => {
    const { publisher, prepare, ssh, headOf, repository, base } = await publishOverSsh();
    const prepared = await prepare();
    const length = `$(git receive-pack --advertise-refs ${repository.path} | wc -c)`;
    await ssh.become(
      `for command; do :; done\nlength=${length}\nsh -c "$command" | { dd bs=1 count="$length" 2>/dev/null; cat >/dev/null; }`,
    );
    expect(await endingOf(publisher.push(prepared))).toEqual({
      is: 'unknown',
      message: expect.stringMatching(/it is not known whether "ssh:.*" took the push/),
    });
    expect(await headOf()).toBe(prepared.commits[0]);
    await ssh.become(OBEY);
    expect(await publisher.push(prepared)).toEqual({ is: 'pushed' });
    expect(await repository.git('rev-list', `${base}..main`)).toBe(prepared.commits[0]);
  });

  it('needs nothing that is written here', async () => {
    const { publisher, prepare, cache, headOf } = await publishOverSsh();
    const prepared = await prepare();
    await rm(cache, { recursive: true });
    await writeFile(cache, '');
    expect(await publisher.push(prepared)).toEqual({ is: 'pushed' });
    expect(await headOf()).toBe(prepared.commits[0]);
  });

  it('to end is given up', async () => {
    const { publisher, prepare, ssh, clock, repository, headOf, base } = await publishOverSsh();
    const prepared = await prepare();
    const started = join(temporaryDirectory(), 'started');
    await ssh.become(`touch ${started}; exec sleep 600`);
    const unsent = endingOf(publisher.push(prepared));
    await expect.poll(() => existsSync(started)).toBe(true);
    clock.advance(60_000);
    expect(await unsent).toEqual({ is: 'not sent', message: expect.stringMatching(/did not answer within 60 s/) });

    await ssh.become(OBEY);
    await rm(started);
    const script = `#!/bin/sh\ntouch ${started}; exec sleep 600\n`;
    await writeFile(join(repository.path, 'hooks', 'pre-receive'), script, { mode: 0o755 });
    const sent = endingOf(publisher.push(prepared));
    await expect.poll(() => existsSync(started)).toBe(true);
    clock.advance(60_000);
    expect(await sent).toEqual({ is: 'unknown', message: expect.stringMatching(/did not answer within 60 s/) });
    expect(await headOf()).toBe(base);
  });
});
