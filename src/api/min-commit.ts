// Implements `X-Treeline-Min-Commit`: a read waits until that commit is followed. See docs/rest.md, answers.
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../model/service-error.ts';
import type { CommitWait } from '../service/read/commit-wait.ts';
import { clientOf, type RequestStep } from './authenticate.ts';

const HEADER = 'x-treeline-min-commit';
const OID = /^[0-9a-f]{40}$/;

/**
 * Returns the step that lets a read pass once the commit that it names is followed. Who waited is authenticated again by
 * `authenticate`: that very commit may have removed the client.
 */
export function waitForMinCommit(commits: Pick<CommitWait, 'reached'>, authenticate: RequestStep): RequestStep {
  return async (request, response, next) => {
    const commit = minCommitOf(request);
    if (commit === undefined) {
      next();
      return;
    }
    await commits.reached(commit, clientOf(request).serial);
    await authenticate(request, response, next);
  };
}

function minCommitOf({ method, headers }: IncomingMessage): string | undefined {
  const text = headers[HEADER];
  if (text === undefined || (method !== 'GET' && method !== 'HEAD')) return undefined;
  if (typeof text === 'string' && OID.test(text)) return text;
  const message = `X-Treeline-Min-Commit has to be the full id of one commit, 40 hexadecimal digits, not "${text}"`;
  throw new ServiceError('invalid_input', message);
}
