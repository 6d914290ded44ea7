// Triggers of polls: at a fixed interval, and within milliseconds when a branch of a local repository moves. The watch
// may miss changes (another ref storage, a network disk, too many watches), which the interval finds.

import { join } from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { findCommonDirectory } from './local-repository.ts';
import type { Trigger } from './source.ts';

interface BranchWatchOptions {
  /** Absolute path of a bare repository or of a work tree. */
  readonly path: string;
  readonly branch: string;
  readonly log?: Logger;
}

/** Returns a trigger for changes of the two files with a branch's head. Logs if they cannot be watched. */
export function createBranchWatch({ path, branch, log }: BranchWatchOptions): Trigger {
  let opening: Promise<FSWatcher | undefined> = Promise.resolve(undefined);

  function complain(error: unknown): undefined {
    log?.warn({ err: error, path }, 'the repository cannot be watched, polling continues');
  }

  async function open(poll: () => void): Promise<FSWatcher> {
    const directory = await findCommonDirectory(path);
    const files = [join(directory, 'refs', 'heads', branch), join(directory, 'packed-refs')];
    return watch(files, { ignoreInitial: true }).on('all', poll).on('error', complain);
  }

  return {
    start(poll) {
      opening = open(poll).catch(complain);
    },
    async stop() {
      await (await opening)?.close();
    },
  };
}

/** Returns a trigger that fires every `pollMs`, the first time after one interval. */
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
