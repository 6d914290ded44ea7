// Somebody who pushes to a repository with the real git, all the time, from a clone of their own.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runGit } from './git-repository.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export interface Outsider {
  /** How many commits have arrived so far. */
  pushed(): number;
  /** Ends the pushing, and resolves with how many commits arrived. */
  stop(): Promise<number>;
}

/** Starts pushing commits of a file `outsider.txt` to the branch `main`. Call it in a test. */
export async function startOutsider(url: string): Promise<Outsider> {
  const clone = join(temporaryDirectory(), 'clone');
  await runGit(['clone', '--quiet', url, clone]);
  const over = new AbortController();
  let pushed = 0;
  const pushing = pushUntil(clone, over.signal, () => {
    pushed += 1;
  });
  // Whoever stops it hears of a failure.
  pushing.catch(() => over.abort());
  return {
    pushed: () => pushed,
    stop() {
      over.abort();
      return pushing;
    },
  };
}

async function pushUntil(clone: string, over: AbortSignal, arrived: () => void): Promise<number> {
  let count = 0;
  while (!over.aborted) {
    const began = performance.now();
    await writeFile(join(clone, 'outsider.txt'), `${count}\n`);
    await runGit(['-C', clone, 'add', '.']);
    await runGit(['-C', clone, 'commit', '--quiet', '-m', `Outside ${count}`]);
    await pushAgainAndAgain(clone);
    count += 1;
    arrived();
    // Others come in between, however slow the machine is.
    await sleep(2 * (performance.now() - began));
  }
  return count;
}

/** People do the same: push, and where somebody else was faster, rebase and push again. */
async function pushAgainAndAgain(clone: string): Promise<void> {
  for (let attempt = 0; attempt < 1_000; attempt += 1) {
    try {
      await runGit(['-C', clone, 'push', '--quiet']);
      return;
    } catch (error) {
      if (!/rejected|cannot lock ref/.test(String(error))) throw error;
      await runGit(['-C', clone, 'pull', '--quiet', '--rebase']);
    }
  }
  throw new Error('the branch was never free');
}
