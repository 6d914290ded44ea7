// Which texts can be the name of a branch.
import { SourceError } from './source.ts';

const WRONG = /^$|^[-/]|\/$|\/\/|\.\.|@\{|(^|\/)\.|\.(lock)?(\/|$)|[\0-\x20\x7f~^:?*[\\]/;

/** Throws SourceError for a name that git would refuse; see git-check-ref-format. */
export function checkBranch(branch: string): void {
  if (WRONG.test(branch))
    throw new SourceError(`"${branch}" is no name of a branch: write it as "git branch" lists it`);
}
