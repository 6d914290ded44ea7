// Tests that a remote that fails or lies leaves the local copy unchanged: a real transport, and one fault in front of it.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { ObjectReader } from '../../src/repository/git/object-reader.ts';
import { headOfBranch } from '../../src/repository/head-of-branch.ts';
import { copyIn } from '../../src/repository/local-copy.ts';
import { fetchVerified } from '../../src/repository/quarantine.ts';
import { createLocalTransport } from '../../src/repository/remotes/local-transport.ts';
import { SmartRemote } from '../../src/repository/remotes/smart-remote.ts';
import type { Transport } from '../../src/repository/remotes/transport.ts';
import { SourceError } from '../../src/repository/source.ts';
import { createGitRepository, type GitRepository, runGit } from '../support/git-repository.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Changes an answer, or the pack in it. */
type Fault = (answer: Buffer) => Buffer | Promise<Buffer>;

interface Setup {
  readonly repository: GitRepository;
  readonly folder: string;
  fetch(fault?: Fault, fetchMs?: number): Promise<string>;
  /** Every file of the copy with its content, to see that nothing changed. */
  contents(): Promise<readonly string[]>;
}

const LIMITS = { packBytesMax: 1e9, objectsMax: 1e6 };

async function setUp(): Promise<Setup> {
  const root = temporaryDirectory();
  const repository = await createGitRepository(join(root, 'stacks.git'));
  const folder = join(root, 'cache');
  const real = createLocalTransport({ path: repository.path, answerBytesMax: 1e9 });
  return {
    repository,
    folder,
    async fetch(fault = (answer) => answer, fetchMs = 30_000) {
      const remote = new SmartRemote(withFault(real, fault), LIMITS);
      const { signal } = new AbortController();
      const limits = { ...LIMITS, anew: false, packsMax: 100, fetchMs, clock: systemClock, signal };
      const objects = new ObjectReader(copyIn(folder));
      const branches = await remote.branches({ branch: 'main', signal });
      const head = headOfBranch(branches, 'main', remote.name);
      return (await fetchVerified({ folder, objects, remote, head, ...limits })).oid;
    },
    async contents() {
      if (!existsSync(folder)) return [];
      const names = await readdir(folder, { recursive: true, withFileTypes: true });
      const files = names.filter((name) => name.isFile()).map((name) => join(name.parentPath, name.name));
      return await Promise.all(
        files.sort().map(async (path) => `${path} ${(await readFile(path)).toString('base64')}`),
      );
    },
  };
}

function withFault(real: Transport, fault: Fault): Transport {
  return {
    ...real,
    stream: (request, work) =>
      real.stream(request, async (body) => {
        const answer = await fault(await buffer(body));
        return await work(Readable.from([answer], { objectMode: true }));
      }),
  };
}

/** Files whose content does not compress, so that a byte in the middle of the answer is a byte of one of them. */
function noise(seed: number): Record<string, string> {
  const text = (n: number) => Array.from({ length: 300 }, (_, i) => Math.sin(seed * 7919 + n * 97 + i)).join('');
  return Object.fromEntries(Array.from({ length: 5 }, (_, n) => [`f${n}`, text(n)]));
}

function flipped(answer: Buffer, at: number): Buffer {
  const copy = Buffer.from(answer);
  copy.writeUInt8(copy.readUInt8(at) ^ 0x55, at);
  return copy;
}

/** Returns an upload-pack answer around any pack, in the side band that Treeline asks for. */
function answerWith(pack: Buffer): Buffer {
  const parts: Buffer[] = [Buffer.from('0008NAK\n')];
  for (let at = 0; at < pack.length; at += 60_000) {
    const piece = pack.subarray(at, at + 60_000);
    parts.push(Buffer.from((piece.length + 5).toString(16).padStart(4, '0')), Buffer.from([1]), piece);
  }
  return Buffer.concat([...parts, Buffer.from('0000')]);
}

function packObjects(repository: GitRepository, input: string, ...flags: readonly string[]): Buffer {
  return execFileSync('git', ['-C', repository.path, 'pack-objects', '--stdout', '--quiet', ...flags], { input });
}

async function objectsOf(repository: GitRepository, ...range: readonly string[]): Promise<readonly string[]> {
  const listed = await repository.git('rev-list', '--objects', '--no-object-names', ...range);
  return listed.split('\n');
}

async function expectRefusal(setup: Setup, head: string, fault: Fault): Promise<void> {
  const held = await setup.contents();
  await expect(setup.fetch(fault)).rejects.toBeInstanceOf(SourceError);
  expect(await setup.contents()).toEqual(held);
  expect(await setup.fetch()).toBe(head);
  expect(await runGit(['-C', copyIn(setup.folder), 'fsck', '--full', '--strict', '--no-progress'])).toBe('');
}

describe.each([
  ['the first fetch', async () => undefined],
  [
    'a later fetch',
    async ({ repository, fetch }: Setup) => {
      await repository.commit({ ...noise(1), 'keep/me': 'k' });
      await fetch();
    },
  ],
])('at %s', (_, prepare) => {
  it.each<[string, Fault]>([
    ['is cut off in the middle', (answer) => answer.subarray(0, answer.length / 2)],
    ['lacks its last packet', (answer) => answer.subarray(0, answer.length - 30)],
    ['is empty', () => Buffer.alloc(0)],
    ['is a bare NAK', () => Buffer.from('0008NAK\n')],
    ['is no protocol at all', () => Buffer.from('<html>Sign in</html>')],
  ])('an answer that %s is refused and changes nothing', async (_, fault) => {
    const setup = await setUp();
    await prepare(setup);
    const head = await setup.repository.commit(noise(2));
    await expectRefusal(setup, head, fault);
  });

  it.each<[string, Fault]>([
    ['is cut off in the middle', (pack) => pack.subarray(0, pack.length / 2)],
    ['lacks its checksum', (pack) => pack.subarray(0, pack.length - 20)],
    ['has a flipped byte in the middle', (pack) => flipped(pack, Math.floor(pack.length / 2))],
    ['has a flipped byte in the checksum', (pack) => flipped(pack, pack.length - 1)],
    ['has a flipped byte in its header', (pack) => flipped(pack, 11)],
    ['has a flipped byte in its magic word', (pack) => flipped(pack, 0)],
    ['has bytes too many', (pack) => Buffer.concat([pack, Buffer.from('more')])],
    ['holds nothing', () => execFileSync('git', ['pack-objects', '--stdout', '-q'], { input: '' })],
  ])('a pack that %s is refused and changes nothing', async (_, fault) => {
    const setup = await setUp();
    await prepare(setup);
    const head = await setup.repository.commit(noise(2));
    const pack = packObjects(setup.repository, 'main\n', '--revs');
    await expectRefusal(setup, head, async () => answerWith(await fault(pack)));
  });

  it('a pack that lacks any one object is refused', async () => {
    const setup = await setUp();
    await prepare(setup);
    const { repository } = setup;
    const known = (await repository.git('for-each-ref', '--format=^%(objectname)')).split('\n').filter(Boolean);
    await repository.commit({ 'sub/a': 'new a', b: 'new b' });
    const objects = await objectsOf(repository, 'main', ...known);
    expect(objects.length).toBeGreaterThan(4);
    const held = await setup.contents();
    for (const missing of objects) {
      const pack = packObjects(repository, `${objects.filter((oid) => oid !== missing).join('\n')}\n`);
      await expect(
        setup.fetch(() => answerWith(pack)),
        missing,
      ).rejects.toThrow(/is not whole, and was not taken/);
    }
    expect(await setup.contents()).toEqual(held);
  });
});

it('an answer that goes on after its end, or never ends, is refused though the pack in it is whole', async () => {
  const { repository, fetch, contents } = await setUp();
  const head = await repository.commit(noise(1));
  const cutOff = /the answer is cut off/;
  await expect(fetch((answer) => answer.subarray(0, -4))).rejects.toThrow(cutOff);
  await expect(fetch((answer) => Buffer.concat([answer, Buffer.from('0005\x01')]))).rejects.toThrow(/after the end/);
  await expect(fetch((answer) => Buffer.concat([answer, Buffer.from('00')]))).rejects.toThrow(cutOff);
  expect(await contents()).toEqual([]);
  expect(await fetch()).toBe(head);
});

it('the answer to an earlier question is refused', async () => {
  const { repository, fetch } = await setUp();
  await repository.commit(noise(1));
  let earlier: Buffer = Buffer.alloc(0);
  await fetch((answer) => {
    earlier = Buffer.from(answer);
    return answer;
  });
  const head = await repository.commit({ new: 'n' });
  await expect(fetch(() => earlier)).rejects.toThrow(`commit ${head} itself did not arrive`);
});

it('a pack that builds on objects outside of it is refused', async () => {
  const { repository, fetch, contents } = await setUp();
  const [base] = [await repository.commit(noise(1))];
  await fetch();
  await repository.commit({ f0: `${noise(1).f0}!` });
  const thin = packObjects(repository, `main\n^${base}\n`, '--thin', '--revs', '--delta-base-offset');
  const held = await contents();
  await expect(fetch(() => answerWith(thin))).rejects.toThrow(/lacks objects that it builds on/);
  expect(await contents()).toEqual(held);
});

it('objects that are no part of the branch are taken if they are whole', async () => {
  const { repository, folder, fetch } = await setUp();
  const head = await repository.commit({ a: '1' });
  const other = await repository.commit({ z: '9' }, { branch: 'other', parents: [] });
  const pack = packObjects(repository, `${(await objectsOf(repository, head, other)).join('\n')}\n`);
  expect(await fetch(() => answerWith(pack))).toBe(head);
  expect(await runGit(['-C', copyIn(folder), 'cat-file', '-t', other])).toBe('commit');
});

it('an answer that never comes is given up', async () => {
  const { repository, fetch, contents } = await setUp();
  await repository.commit({ a: '1' });
  await expect(fetch(() => new Promise<Buffer>(() => undefined), 50)).rejects.toThrow(/did not answer within 0.05 s/);
  expect(await contents()).toEqual([]);
});
