// Where in the repository the layout begins, as the way from its root.
import { SourceError } from './source.ts';

/** Returns the steps from the root to a directory; none for the root. Throws SourceError where they lead out of it. */
export function directorySteps(directory: string): readonly string[] {
  const steps = directory.split('/').filter((step) => step !== '' && step !== '.');
  if (directory.startsWith('/') || steps.includes('..')) {
    throw new SourceError(
      `"${directory}" is no directory of the repository: write a path from its root, such as "stacks"`,
    );
  }
  return steps;
}
