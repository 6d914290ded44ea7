// Starts git in the cheapest way: a small process starts it itself, a large one has it started by a git starter.
import { GitStarter } from './git-starter.ts';
import { endGroup, type GitStart, type RunningGit, spawnGit } from './spawn-git.ts';

/** Above this, a start of git takes tens of milliseconds in which nothing else happens; a starter takes 50 MiB. */
const OWN_START_BYTES_MAX = 192 * 2 ** 20;

/** One for the process, begun when git is first needed by a large process, and again when it has ended. */
let starter: GitStarter | undefined;

/** Starts git in a process group of its own. The caller feeds, reads and ends it. */
export function launchGit(what: GitStart, isLarge = process.memoryUsage.rss() > OWN_START_BYTES_MAX): RunningGit {
  if (!isLarge) return ownGit(what);
  if (starter?.isConnected !== true) starter = new GitStarter();
  return starter.start(what);
}

function ownGit(what: GitStart): RunningGit {
  const child = spawnGit(what);
  return Object.assign(child, { end: (ending: NodeJS.Signals) => endGroup(child, ending) });
}
