// Serves a local repository as a smart remote: `git upload-pack` or `git receive-pack` answers each request, so that
// git itself does the locking, runs hooks, follows alternates and linked work trees, and checks permissions.

import { type GitOrder, runGit, streamGit } from '../../git/git-process.ts';
import { SourceError } from '../source.ts';
import { findGitDirectory, readBranch } from './git-directory.ts';
import { LIST_BYTES_MAX, type Transport, type TransportRequest } from './remote.ts';
import { SentSecrets } from './sent-secrets.ts';

interface LocalTransportOptions {
  /** Absolute path of a bare repository or of a work tree. */
  readonly path: string;
  /** The maximum size of the answer, in bytes. */
  readonly answerBytesMax: number;
}

/** A name that cannot be registered: no request is ever sent to it. */
const ADDRESS = 'http://local.invalid/repository';
const NOTHING = new Uint8Array();
/**
 * The services, each with the two packet lines that smart HTTP puts before an advertisement and git's command omits.
 */
const SERVICES: ReadonlyMap<string, Buffer> = new Map([
  ['upload-pack', Buffer.from('001e# service=git-upload-pack\n0000')],
  ['receive-pack', Buffer.from('001f# service=git-receive-pack\n0000')],
]);

/** Returns the transport to a local repository. Reads nothing before the first request. */
export function createLocalTransport(options: LocalTransportOptions): Transport {
  return {
    url: ADDRESS,
    name: options.path,
    secrets: new SentSecrets(),
    async request(request) {
      const { kind, head, command } = serviceFor(request);
      const answerBytesMax = Math.min(options.answerBytesMax, LIST_BYTES_MAX);
      const answer = await runGit(await orderOf({ ...options, answerBytesMax }, command, request));
      const headers = { 'content-type': `application/x-git-${kind}` };
      return { statusCode: 200, statusMessage: 'OK', headers, body: [head, ...answer] };
    },
    async readHead(branch) {
      const { commonDirectory } = await findGitDirectory(options.path);
      return await readBranch(commonDirectory, branch);
    },
    async stream(request, work) {
      return await streamGit(await orderOf(options, serviceFor(request).command, request), work);
    },
  };
}

interface Service {
  readonly kind: string;
  /** Precedes git's own answer. */
  readonly head: Uint8Array;
  readonly command: readonly string[];
}

function serviceFor({ url }: TransportRequest): Service {
  for (const [service, advertisementHead] of SERVICES) {
    if (url === `${ADDRESS}/info/refs?service=git-${service}`) {
      const command = [service, '--stateless-rpc', '--advertise-refs'];
      return { kind: `${service}-advertisement`, head: advertisementHead, command };
    }
    if (url === `${ADDRESS}/git-${service}`) {
      return { kind: `${service}-result`, head: NOTHING, command: [service, '--stateless-rpc'] };
    }
  }
  throw new SourceError(`a local repository has no answer to ${url}`);
}

async function orderOf(
  { path, answerBytesMax }: LocalTransportOptions,
  command: readonly string[],
  { body, signal, sending }: TransportRequest,
): Promise<GitOrder> {
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
