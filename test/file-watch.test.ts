// The watch on single files: every way in which a file is replaced.
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { watchFiles } from '../src/base/file-watch.ts';
import { temporaryDirectory } from './support/temporary-directory.ts';

/** Watches `file` below the directory; returns how often it has changed so far. */
async function watching(directory: string): Promise<() => number> {
  let changes = 0;
  const watch = watchFiles([join(directory, 'file')], {
    changed: () => changes++,
    failed: (error) => expect.unreachable(String(error)),
  });
  onTestFinished(() => watch.close());
  await watch.ready;
  return () => changes;
}

interface Way {
  readonly name: string;
  prepare(directory: string): void;
  /** `round` counts from 1. */
  replace(directory: string, round: number): void;
}

const WAYS: readonly Way[] = [
  {
    name: 'is written over',
    prepare: (directory) => writeFileSync(join(directory, 'file'), '0'),
    replace: (directory, round) => writeFileSync(join(directory, 'file'), `${round}`),
  },
  {
    name: 'is replaced by another that is given its name',
    prepare: (directory) => writeFileSync(join(directory, 'file'), '0'),
    replace(directory, round) {
      writeFileSync(join(directory, 'new'), `${round}`);
      renameSync(join(directory, 'new'), join(directory, 'file'));
    },
  },
  {
    name: 'did not exist',
    prepare: () => undefined,
    replace(directory, round) {
      rmSync(join(directory, 'file'), { force: true });
      writeFileSync(join(directory, 'file'), `${round}`);
    },
  },
  {
    name: 'is a symbolic link that is pointed elsewhere',
    prepare: (directory) => linkTo(directory, 0),
    replace: linkTo,
  },
  {
    name: 'is a link through a directory that is exchanged, as Kubernetes does with secrets',
    prepare(directory) {
      exchange(directory, 0);
      symlinkSync(join('..data', 'file'), join(directory, 'file'));
    },
    replace: exchange,
  },
];

function linkTo(directory: string, round: number): void {
  writeFileSync(join(directory, `${round}`), `${round}`);
  symlinkSync(`${round}`, join(directory, 'link'));
  renameSync(join(directory, 'link'), join(directory, 'file'));
}

function exchange(directory: string, round: number): void {
  mkdirSync(join(directory, `..${round}`));
  writeFileSync(join(directory, `..${round}`, 'file'), `${round}`);
  symlinkSync(`..${round}`, join(directory, '..data_tmp'));
  renameSync(join(directory, '..data_tmp'), join(directory, '..data'));
  rmSync(join(directory, `..${round - 1}`), { recursive: true, force: true });
}

it.each(WAYS)('sees a file that $name, again and again', async ({ prepare, replace }) => {
  const directory = temporaryDirectory();
  prepare(directory);
  const changes = await watching(directory);
  let round = 0;
  for (let times = 0; times < 3; times++) {
    const before = changes();
    const seen = (): void => expect(changes()).toBeGreaterThan(before);
    // A watch may miss something on a busy machine; it must not miss everything from then on.
    const attempt = async (): Promise<void> => {
      replace(directory, ++round);
      await vi.waitFor(seen, { timeout: 2_000, interval: 5 });
    };
    await vi.waitFor(attempt, { timeout: 20_000, interval: 0 });
  }
});

it('sees nothing of other files, and nothing after its end', async () => {
  const directory = temporaryDirectory();
  const file = join(directory, 'file');
  writeFileSync(file, '0');
  let changes = 0;
  const watch = watchFiles([file], { changed: () => changes++, failed: () => undefined });
  await watch.ready;
  writeFileSync(join(directory, 'other'), '1');
  // A second watch shows when the first would have seen it.
  const seen = await watching(directory);
  writeFileSync(join(directory, 'other'), '2');
  await watch.close();
  writeFileSync(file, '1');
  await vi.waitFor(() => expect(seen()).toBeGreaterThan(0), 20_000);
  expect(changes).toBe(0);
});
