// Tests that a hostile push neither blocks the process that follows nor fills its memory: big blobs, many objects, deltas that
// expand, inside the layout and outside of it.
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { deflateSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ObjectReader } from '../../src/repository/git/object-reader.ts';
import { createGitSource, type GitSource, type GitSourceOptions } from '../../src/repository/git-source.ts';
import { ContentError } from '../../src/repository/source.ts';
import { fakeSsh } from '../support/fake-ssh.ts';
import { startGitHttpServer } from '../support/git-http-server.ts';
import { createGitRepository, type GitRepository, runGit } from '../support/git-repository.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const MIB = 1024 * 1024;
/** Of this thread's processor, which other work on the machine does not change: nobody waits longer for a turn. */
const CPU_MS_MAX = 700;
const MORE_MEMORY_MAX = 64 * MIB;

afterEach(() => {
  vi.unstubAllEnvs();
});

interface Setup {
  readonly repository: GitRepository;
  open(options?: Partial<GitSourceOptions>): Promise<GitSource>;
}

async function setUp(): Promise<Setup> {
  const folder = temporaryDirectory();
  const repository = await createGitRepository(join(folder, 'stacks.git'));
  await repository.commit({ 'stacks/tree.yaml': 'name: all\n' });
  const common = { url: repository.path, branch: 'main', directory: 'stacks', cache: join(folder, 'cache') };
  return { repository, open: (options) => createGitSource({ ...common, ...options }) };
}

/** Runs `work` and returns how long it kept this thread busy, and how much memory was added. */
async function costOf(work: () => Promise<unknown>): Promise<{ readonly cpuMs: number; readonly memory: number }> {
  const before = process.memoryUsage.rss();
  const start = process.threadCpuUsage();
  let peak = before;
  const poll = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 10);
  try {
    await work();
  } finally {
    clearInterval(poll);
  }
  peak = Math.max(peak, process.memoryUsage.rss());
  const { user, system } = process.threadCpuUsage(start);
  return { cpuMs: (user + system) / 1000, memory: peak - before };
}

async function expectCheap(work: () => Promise<unknown>): Promise<void> {
  const { cpuMs, memory } = await costOf(work);
  expect(cpuMs).toBeLessThan(CPU_MS_MAX);
  expect(memory).toBeLessThan(MORE_MEMORY_MAX);
}

async function follow(source: GitSource): Promise<readonly string[]> {
  const { oid } = await source.fetch(null);
  const { files, blobs } = await source.snapshot(oid, () => true);
  return [...files].map(([path, { oid }]) => `${path}${blobs.has(oid) ? '' : ' (not read)'}`);
}

/** Bytes that do not compress, in little time. */
function noise(bytes: number): Buffer {
  const block = Buffer.concat(Array.from({ length: 1024 }, (_, i) => createHash('sha512').update(`${i}`).digest()));
  return Buffer.concat(Array.from({ length: Math.ceil(bytes / block.length) }, () => block)).subarray(0, bytes);
}

describe('one large blob', () => {
  const folder = mkdtempSync(join(tmpdir(), 'treeline-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  /** Made once: to compress it takes longer than each of the tests. */
  let zeros: GitRepository;
  beforeAll(async () => {
    zeros = await createGitRepository(join(folder, 'zeros.git'));
    await zeros.git('config', 'core.bigFileThreshold', '1m');
    const tree = { 'stacks/tree.yaml': 'name: all\n', 'images/tree.yaml': 'name: all\n' };
    await zeros.commit({ ...tree, 'images/zeros.yaml': Buffer.alloc(96 * MIB) });
  });

  it.each([
    ['outside the layout', 'stacks', ['tree.yaml']],
    ['in the layout', 'images', ['tree.yaml', 'zeros.yaml (not read)']],
  ])('of zeros, %s stops nobody', async (_, directory, expected) => {
    const { open } = await setUp();
    const source = await open({ url: zeros.path, directory });
    await expectCheap(async () => expect(await follow(source)).toEqual(expected));
  });

  it('that does not compress stops nobody', async () => {
    const { repository, open } = await setUp();
    await repository.git('config', 'core.bigFileThreshold', '1m');
    await repository.git('config', 'core.compression', '0');
    await repository.commit({ 'images/noise': noise(40 * MIB) });
    const source = await open();
    await expectCheap(async () => expect(await follow(source)).toEqual(['tree.yaml']));
  });

  it('over HTTP stops nobody either', async () => {
    const { open } = await setUp();
    const server = await startGitHttpServer({ repository: zeros.path });
    const source = await open({ url: server.url });
    await expectCheap(async () => expect(await follow(source)).toEqual(['tree.yaml']));
  });

  it('over ssh stops nobody either', async () => {
    const { open } = await setUp();
    await fakeSsh();
    const source = await open({ url: `ssh://git@git.example${zeros.path}` });
    await expectCheap(async () => expect(await follow(source)).toEqual(['tree.yaml']));
  });
});

describe('many objects', () => {
  it('outside the layout stop nobody', async () => {
    const { repository, open } = await setUp();
    const files = Array.from({ length: 20_000 }, (_, i) => [`n/d${i % 100}/f${i}`, `n: ${i}\n`]);
    await repository.commit(Object.fromEntries(files));
    const source = await open();
    await expectCheap(async () => expect(await follow(source)).toEqual(['tree.yaml']));
  });

  it.each([
    ['a local repository', async ({ path }: GitRepository) => path],
    [
      'a repository over ssh',
      async ({ path }: GitRepository) => {
        await fakeSsh();
        return `ssh://git@git.example${path}`;
      },
    ],
  ])('more than the limit are refused, from %s', async (_, urlOf) => {
    const { repository, open } = await setUp();
    const limits = { objectsMax: 20 };
    const url = await urlOf(repository);
    const source = await open({ url, limits });
    const { oid } = await source.fetch(null);
    await repository.commit(Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`f${i}`, `${i}`])));
    await expect(source.fetch(oid)).rejects.toThrow(/sends 3\d objects, and 20 are taken at once/);
    expect((await source.snapshot(oid, () => true)).files.size).toBe(1);
  });

  it('are no more in the copy, over many pushes, than the limit twice', async () => {
    const { repository, open } = await setUp();
    const source = await open({ limits: { objectsMax: 30 } });
    const copy = join(repository.path, '..', 'cache', 'repository.git');
    for (let push = 0; push < 8; push += 1) {
      // Each leaves nothing of the one before.
      const files = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`f${i}`, `${push} ${i}`]));
      await repository.commit({ ...files, 'stacks/tree.yaml': 'name: all\n' }, { parents: [] });
      await source.fetch(null);
      const count = Number(/in-pack: (\d+)/.exec(await runGit(['-C', copy, 'count-objects', '-v']))?.[1]);
      expect(count).toBeLessThanOrEqual(60);
    }
  });

  it('are taken piece by piece exactly as long as they could be taken whole', async () => {
    const { repository, open } = await setUp();
    const limits = { objectsMax: 30 };
    const source = await open({ limits });
    const taken: boolean[] = [];
    for (let piece = 0; piece < 5; piece += 1) {
      await repository.commit(
        Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`${piece}-${i}`, `${piece} ${i}`])),
      );
      const fetched = await source.fetch(null).then(
        () => true,
        (error: Error) => !/sends \d+ objects, and 30 are taken at once/.test(error.message),
      );
      const anew = await open({ limits, cache: join(repository.path, '..', `cache-${piece}`) });
      expect(
        await anew.fetch(null).then(
          () => true,
          () => false,
        ),
      ).toBe(fetched);
      taken.push(fetched);
    }
    expect(taken).toEqual([true, true, true, false, false]);
  });

  it('that are more to read together than the limit are refused', async () => {
    const { repository, open } = await setUp();
    await repository.commit({ 'stacks/a.yaml': 'a'.repeat(600), 'stacks/b.yaml': 'b'.repeat(600) });
    const source = await open({ limits: { snapshotBytesMax: 1000 } });
    const { oid } = await source.fetch(null);
    await expect(source.snapshot(oid, () => true)).rejects.toThrow(/have more than 1000 bytes together: divide them/);
    await expect(source.snapshot(oid, () => true)).rejects.toBeInstanceOf(ContentError);
    await expect(source.snapshot(oid, (path) => path === 'a.yaml')).resolves.toBeDefined();
  });

  it('of a megabyte each leave others their turn while they are read', async () => {
    const { repository, open } = await setUp();
    const files = Array.from({ length: 40 }, (_, i) => [`stacks/f${i}.yaml`, `${i}${'x'.repeat(MIB - 10)}`]);
    await repository.commit(Object.fromEntries(files));
    const source = await open();
    const { oid } = await source.fetch(null);
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    expect((await source.snapshot(oid, () => true)).blobs.size).toBe(41);
    delay.disable();
    expect(delay.max / 1e6).toBeLessThan(400);
  });
});

/** A number as packs hold it: seven bits a byte, lowest first. */
function sizeBytes(size: number): number[] {
  const bytes: number[] = [];
  for (let rest = size; ; rest = Math.floor(rest / 128)) {
    bytes.push(rest < 128 ? rest : (rest & 0x7f) | 0x80);
    if (rest < 128) return bytes;
  }
}

function entryOf(type: number, size: number, content: Buffer, base = Buffer.alloc(0)): Buffer {
  const rest = Math.floor(size / 16);
  const first = (type << 4) | (size & 0x0f);
  const header = rest === 0 ? [first] : [first | 0x80, ...sizeBytes(rest)];
  return Buffer.concat([Buffer.from(header), base, deflateSync(content)]);
}

function packOf(entries: readonly Buffer[]): Buffer {
  const header = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1');
  header.writeUInt32BE(entries.length, 8);
  const content = Buffer.concat([header, ...entries]);
  return Buffer.concat([content, createHash('sha1').update(content).digest()]);
}

function oidOf(type: string, content: Buffer): string {
  return createHash('sha1').update(`${type} ${content.length}\0`).update(content).digest('hex');
}

/** A commit whose one file is made of a megabyte of zeros, copied `times` times by a delta of some bytes. */
function deltaBomb(times: number): { readonly pack: Buffer; readonly head: string } {
  const base = Buffer.alloc(MIB);
  const hash = createHash('sha1').update(`blob ${times * MIB}\0`);
  for (let i = 0; i < times; i += 1) hash.update(base);
  const large = hash.digest();
  const copy = Buffer.from([0xc0, 0x10]);
  const copies = Buffer.concat(Array.from({ length: times }, () => copy));
  const delta = Buffer.concat([Buffer.from([...sizeBytes(MIB), ...sizeBytes(times * MIB)]), copies]);
  const tree = Buffer.concat([Buffer.from('100644 bomb.yaml\0'), large]);
  const person = 'T <t@example.org> 1900000000 +0000';
  const commit = Buffer.from(`tree ${oidOf('tree', tree)}\nauthor ${person}\ncommitter ${person}\n\nx\n`);
  const entries = [
    entryOf(1, commit.length, commit),
    entryOf(2, tree.length, tree),
    entryOf(3, base.length, base),
    entryOf(7, delta.length, delta, Buffer.from(oidOf('blob', base), 'hex')),
  ];
  return { pack: packOf(entries), head: oidOf('commit', commit) };
}

/** A commit whose message is made by a delta that inserts one byte after the other. */
function singleBytes(count: number): { readonly pack: Buffer; readonly head: string } {
  const tree = Buffer.alloc(0);
  const person = 'T <t@example.org> 1900000000 +0000';
  const base = Buffer.from(`tree ${oidOf('tree', tree)}\nauthor ${person}\ncommitter ${person}\n\n`);
  const commit = Buffer.concat([base, Buffer.alloc(count, 'a')]);
  const inserts = Buffer.alloc(2 * commit.length, 1);
  for (const [at, byte] of commit.entries()) inserts[2 * at + 1] = byte;
  const delta = Buffer.concat([Buffer.from([...sizeBytes(base.length), ...sizeBytes(commit.length)]), inserts]);
  const entries = [
    entryOf(2, tree.length, tree),
    entryOf(1, base.length, base),
    entryOf(7, delta.length, delta, Buffer.from(oidOf('commit', base), 'hex')),
  ];
  return { pack: packOf(entries), head: oidOf('commit', commit) };
}

/** A pack of blobs of so many bytes, each a delta that changes the first byte of the one before. */
function chain(count: number, bytes: number): { readonly pack: Buffer; readonly last: string } {
  const blob = Buffer.alloc(bytes);
  const entries = [entryOf(3, bytes, blob)];
  for (let i = 1; i <= count; i += 1) {
    const base = Buffer.from(oidOf('blob', blob), 'hex');
    blob[0] = i;
    const copyAllButOne = [0xb1, 1, (bytes - 1) & 0xff, (bytes - 1) >> 8];
    const delta = Buffer.from([...sizeBytes(bytes), ...sizeBytes(bytes), 1, i, ...copyAllButOne]);
    entries.push(entryOf(7, delta.length, delta, base));
  }
  return { pack: packOf(entries), last: oidOf('blob', blob) };
}

describe('a delta', () => {
  /** A server that sends the pack as it is, whatever it has itself. */
  async function serve({ path, git }: GitRepository, { pack, head }: ReturnType<typeof deltaBomb>): Promise<string> {
    const main = await git('rev-parse', 'main');
    const server = await startGitHttpServer({ repository: path });
    server.misbehave = async ({ stage, answer, response }) => {
      const { status, headers, body } = await answer();
      const listed = Buffer.from(body.toString('latin1').replaceAll(main, head), 'latin1');
      response.writeHead(status, headers).end(stage === 'advertisement' ? listed : answerWith(pack));
      return true;
    };
    return server.url;
  }

  function answerWith(pack: Buffer): Buffer {
    const length = (pack.length + 5).toString(16).padStart(4, '0');
    return Buffer.concat([Buffer.from(`0008NAK\n${length}\x01`), pack, Buffer.from('0000')]);
  }

  it('of a kilobyte that makes a gigabyte is refused before it is made', async () => {
    const { repository, open } = await setUp();
    const bomb = deltaBomb(300);
    expect(bomb.pack.length).toBeLessThan(2000);
    const source = await open({ url: await serve(repository, bomb) });
    await expectCheap(async () => {
      await expect(source.fetch(null)).rejects.toThrow(/was not taken: an object of it is too large/);
    });
  });

  it('that brings each byte by itself costs no more than its bytes', async () => {
    const { repository, open } = await setUp();
    const source = await open({ url: await serve(repository, singleBytes(2 * MIB)) });
    await expectCheap(async () => expect((await source.fetch(null)).message).toMatch(/^aaaa/));
  });

  it('at the end of a chain that makes many times as much is read beside everybody else', async () => {
    const { repository } = await setUp();
    const { pack, last } = chain(40, 60_000);
    await runGit(['-C', repository.path, 'index-pack', '--stdin'], pack);
    const objects = new ObjectReader(repository.path);
    onTestFinished(() => objects.close());
    await expectCheap(async () => expect((await objects.read(last, 'blob')).bytes[0]).toBe(40));
  });

  it('that makes more than a file may have is listed and not read', async () => {
    const { repository, open } = await setUp();
    const source = await open({ url: await serve(repository, deltaBomb(60)), directory: '.' });
    await expectCheap(async () => expect(await follow(source)).toEqual(['bomb.yaml (not read)']));
  });
});
