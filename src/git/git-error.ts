// The error of everything that works on a repository: here, and as SourceError in source/.

/** A repository, the way to it, or git itself failed. Its message says what to do; `cause` holds the rest. */
export class GitError extends Error {
  override readonly name = 'GitError';
}
