// Triggers of polls: at a fixed interval, and within milliseconds when a branch of a local repository moves. The latter is only a
// hint: the interval finds the changes that it misses (another ref storage, a network disk, too many watches).

import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { type FileWatch, watchFiles } from '../base/file-watch.ts';
import type { Logger } from '../base/log.ts';
import { findGitDirectory, readBranch } from './remotes/git-directory.ts';
import type { Trigger } from './source.ts';

interface BranchWatchOptions {
  /** Absolute path of a bare repository or of a work tree. */
  readonly path: string;
  readonly branch: string;
  /** Returns true for a head that needs no poll: it is fetched already, or this process is pushing it. */
  readonly isKnown?: (head: string) => boolean;
  readonly log?: Logger;
}

/** Returns a trigger on the two files that hold a branch's head. If they cannot be watched, it logs that. */
export function createBranchWatch({ path, branch, isKnown, log }: BranchWatchOptions): Trigger {
  let opening: Promise<FileWatch | undefined> = Promise.resolve(undefined);

  function complain(error: unknown): undefined {
    log?.warn({ err: error, path }, 'the repository cannot be watched, polling goes on');
  }

  async function open(poll: () => void): Promise<FileWatch> {
    const { commonDirectory } = await findGitDirectory(path);
    const files = [join(commonDirectory, 'refs', 'heads', branch), join(commonDirectory, 'packed-refs')];
    return watchFiles(files, { changed: () => void pollIfNew(commonDirectory, poll), failed: complain });
  }

  async function pollIfNew(commonDirectory: string, poll: () => void): Promise<void> {
    // What cannot be read is left to the poll, which says why.
    const head = await readBranch(commonDirectory, branch).catch(() => undefined);
    if (head === undefined || isKnown?.(head) !== true) poll();
  }

  return {
    start(poll) {
      opening = open(poll).catch(complain);
    },
    async stop() {
      const watch = await opening;
      await watch?.close();
    },
  };
}

/** Returns a trigger that fires every `pollMs`, first after one interval. */
export function createPollTimer(pollMs: number, clock: Clock): Trigger {
  let cancel: (() => void) | undefined;
  return {
    start(poll) {
      cancel?.();
      const again = (): void => {
        cancel = clock.after(pollMs, () => {
          again();
          poll();
        });
      };
      again();
    },
    async stop() {
      cancel?.();
      cancel = undefined;
    },
  };
}
