// A local repository as one more smart remote: each request of the protocol is answered by `git upload-pack` or
// `git receive-pack`, so that git itself does the locking, runs hooks, follows alternates and linked work trees, and
// decides what may be read and written.

import { type GitOrder, runGit, streamGit } from '../../git/git-process.ts';
import { SourceError } from '../source.ts';
import { findGitDirectory } from './git-directory.ts';
import { LIST_BYTES_MAX, type Transport, type TransportRequest } from './remote.ts';
import { SentSecrets } from './sent-secrets.ts';

export interface LocalTransportOptions {
  /** Absolute path of a bare repository or of a work tree. */
  readonly path: string;
  /** The largest answer that is taken, in bytes. */
  readonly answerBytesMax: number;
}

/** A name that nobody can register: nothing is ever sent to it. */
const ADDRESS = 'http://local.invalid/repository';
const NOTHING = new Uint8Array();
/** Each by its program, with the two packet lines that smart HTTP puts before an advertisement and git's command leaves out. */
const SERVICES: ReadonlyMap<string, Buffer> = new Map([
  ['upload-pack', Buffer.from('001e# service=git-upload-pack\n0000')],
  ['receive-pack', Buffer.from('001f# service=git-receive-pack\n0000')],
]);

/** Returns the transport to a local repository. Nothing is looked at before the first request. */
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
    async stream(request, work) {
      return await streamGit(await orderOf(options, serviceFor(request).command, request), work);
    },
  };
}

interface Service {
  readonly kind: string;
  /** What comes before git's own answer. */
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
  // That the operator named this repository is the consent that git asks for where its files belong to somebody else.
  const trusted = new Set([path, gitDirectory, commonDirectory]);
  const consent = [...trusted].flatMap((each) => ['-c', `safe.directory=${each}`]);
  sending?.();
  return {
    args: [...consent, ...command, path],
    input: body,
    name: path,
    answerBytesMax,
    signal,
    // Killed, it would leave locks in a repository that is not ours.
    ending: 'SIGTERM',
  };
}
