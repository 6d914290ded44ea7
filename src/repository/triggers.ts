// Triggers of polls: at a fixed interval, and within milliseconds when a branch of a local repository moves. The latter
// is only a hint: the interval finds the changes that it misses (another ref storage, a network disk, too many
// watches).

import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { type FileWatch, watchFiles } from '../base/file-watch.ts';
import type { Logger } from '../base/log.ts';
import { findCommonDirectory } from './local-repository.ts';
import type { Trigger } from './source.ts';

interface BranchWatchOptions {
  /** Absolute path of a bare repository or of a work tree. */
  readonly path: string;
  readonly branch: string;
  readonly log?: Logger;
}

/** Returns a trigger on the two files that hold a branch's head. If they cannot be watched, it logs that. */
export function createBranchWatch({ path, branch, log }: BranchWatchOptions): Trigger {
  let opening: Promise<FileWatch | undefined> = Promise.resolve(undefined);

  function complain(error: unknown): undefined {
    log?.warn({ err: error, path }, 'the repository cannot be watched, polling continues');
  }

  async function open(poll: () => void): Promise<FileWatch> {
    const directory = await findCommonDirectory(path);
    const files = [join(directory, 'refs', 'heads', branch), join(directory, 'packed-refs')];
    return watchFiles(files, { changed: poll, failed: complain });
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
