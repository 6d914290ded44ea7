// Serves a local repository as a smart remote: `git upload-pack` or `git receive-pack` answers each request, so that
// git itself does the locking, runs hooks, follows alternates and linked work trees, and checks permissions.

import { type GitOrder, runGit, streamGit } from '../git/git-process.ts';
import { findGitDirectory, readBranch } from './git-directory.ts';
import { SentSecrets } from './sent-secrets.ts';
import { LIST_BYTES_MAX, readRequest, type Transport, type TransportRequest, wrapAnswer } from './transport.ts';

interface LocalTransportOptions {
  /** Absolute path of a bare repository or of a work tree. */
  readonly path: string;
  /** The maximum size of the answer, in bytes. */
  readonly answerBytesMax: number;
}

/** A name that cannot be registered: no request is ever sent to it. */
const ADDRESS = 'http://local.invalid/repository';

/** Returns the transport to a local repository. Reads nothing before the first request. */
export function createLocalTransport(options: LocalTransportOptions): Transport {
  return {
    url: ADDRESS,
    name: options.path,
    secrets: new SentSecrets(),
    async request(request) {
      const answerBytesMax = Math.min(options.answerBytesMax, LIST_BYTES_MAX);
      const said = await runGit(await makeOrder({ ...options, answerBytesMax }, request));
      return wrapAnswer(readRequest(ADDRESS, request), said);
    },
    async readHead(branch) {
      const { commonDirectory } = await findGitDirectory(options.path);
      return await readBranch(commonDirectory, branch);
    },
    async stream(request, work) {
      return await streamGit(await makeOrder(options, request), work);
    },
  };
}

async function makeOrder(
  { path, answerBytesMax }: LocalTransportOptions,
  request: TransportRequest,
): Promise<GitOrder> {
  const { service, isList } = readRequest(ADDRESS, request);
  const { body, signal, sending } = request;
  const command = [service.replace('git-', ''), '--stateless-rpc', ...(isList ? ['--advertise-refs'] : [])];
  const { gitDirectory, commonDirectory } = await findGitDirectory(path);
  // The operator named this repository, which is the consent that git requires for files of another owner.
  const trusted = new Set([path, gitDirectory, commonDirectory]);
  const consent = [...trusted].flatMap((each) => ['-c', `safe.directory=${each}`]);
  sending?.();
  return {
    args: [...consent, ...command, path],
    input: body,
    name: path,
    answerBytesMax,
    signal,
    // SIGKILL would leave locks in a repository that is not ours.
    ending: 'SIGTERM',
  };
}
