// Reads with the real git the commits that writes have left in the log of a repository.
import type { GitRepository } from './git-repository.ts';
import type { Reply } from './https-client.ts';

export interface LogEntry {
  readonly commit: string;
  readonly author: string;
  readonly email: string;
  readonly committer: string;
  readonly subject: string;
  readonly client: string;
  readonly role: string;
  /** Empty where nobody wrote it through the interface. */
  readonly requestId: string;
}

const FIELDS = ['%H', '%an', '%ae', '%cn', '%s', ...['Client', 'Role', 'Request-Id'].map(trailer)];

function trailer(name: string): string {
  return `%(trailers:key=Treeline-${name},valueonly,separator=)`;
}

/** Returns the commits of a range, oldest first. */
export async function logOf({ git }: Pick<GitRepository, 'git'>, range = 'main'): Promise<readonly LogEntry[]> {
  const text = await git('log', '--reverse', `--format=${FIELDS.join('%x1f')}`, range);
  const lines = text === '' ? [] : text.split('\n');
  return lines.map((line) => {
    const [commit = '', author = '', email = '', committer = '', subject = '', ...trailers] = line.split('\x1f');
    const [client = '', role = '', requestId = ''] = trailers;
    return { commit, author, email, committer, subject, client, role, requestId };
  });
}

/** Returns the id by which the log tells of a write. */
export function requestIdOf({ headers }: Pick<Reply, 'headers'>): string {
  return String(headers['x-request-id']);
}
