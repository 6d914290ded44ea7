// Commits for tests of what makes and pushes them.
import type { NewCommit } from '../../src/repository/publisher.ts';

/** When they are made. */
export const NOW = '2026-11-20T10:13:56Z';

/** Returns a commit to be made. */
export function newCommit(edits: Readonly<Record<string, string | null>>, message = 'Write'): NewCommit {
  const author = { name: 'Deploy robot', email: '0A1B@clients.example' };
  return { author, message, edits: Object.entries(edits).map(([path, text]) => ({ path, text })) };
}
