// Says "look now" when a branch of a local repository moves, within milliseconds. Only a hint: what it misses (another
// way of storing refs, a network disk, too many watches) is found by the next poll.
import { join } from 'node:path';
import { type FileWatch, watchFiles } from '../file-watch.ts';
import type { Logger } from '../log.ts';
import { findGitDirectory } from './remotes/git-directory.ts';
import type { Trigger } from './source.ts';

export interface BranchWatchOptions {
  /** Absolute path of a bare repository or of a work tree. */
  readonly path: string;
  readonly branch: string;
  readonly log?: Logger;
}

/** Returns a trigger on the two files that say where a branch is. Where they cannot be watched, it says so in the log. */
export function createBranchWatch({ path, branch, log }: BranchWatchOptions): Trigger {
  let opening: Promise<FileWatch | undefined> = Promise.resolve(undefined);

  function complain(error: unknown): undefined {
    log?.warn({ err: error, path }, 'the repository cannot be watched, polling goes on');
  }

  async function open(look: () => void): Promise<FileWatch> {
    const { commonDirectory } = await findGitDirectory(path);
    const files = [join(commonDirectory, 'refs', 'heads', branch), join(commonDirectory, 'packed-refs')];
    return watchFiles(files, { changed: look, failed: complain });
  }

  return {
    start(look) {
      opening = open(look).catch(complain);
    },
    async stop() {
      const watch = await opening;
      await watch?.close();
    },
  };
}
