// A local repository as one more smart remote: each request of the protocol is answered by `git upload-pack` or
// `git receive-pack`, so that git itself does the locking, runs hooks, follows alternates and linked work trees, and
// decides what may be read and written.
import { findGitDirectory } from './git-directory.ts';
import { runGit } from './git-process.ts';
import type { Transport, TransportAnswer, TransportRequest } from './remote.ts';
import { SourceError } from './source.ts';

export interface LocalTransportOptions {
  /** Absolute path of a bare repository or of a work tree. */
  readonly path: string;
  /** The largest answer that is taken, in bytes. */
  readonly answerBytesMax: number;
}

/** A name that nobody can register: nothing is ever sent to it. */
const ADDRESS = 'http://local.invalid/repository';
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
    async request(request) {
      for (const [service, advertisementHead] of SERVICES) {
        if (request.url === `${ADDRESS}/info/refs?service=git-${service}`) {
          const answer = await runService(options, [service, '--stateless-rpc', '--advertise-refs'], request);
          return success(`${service}-advertisement`, [advertisementHead, ...answer]);
        }
        if (request.url === `${ADDRESS}/git-${service}`) {
          return success(`${service}-result`, await runService(options, [service, '--stateless-rpc'], request));
        }
      }
      throw new SourceError(`a local repository has no answer to ${request.url}`);
    },
  };
}

function success(kind: string, body: readonly Uint8Array[]): TransportAnswer {
  const headers = { 'content-type': `application/x-git-${kind}` };
  return { statusCode: 200, statusMessage: 'OK', headers, body };
}

async function runService(
  { path, answerBytesMax }: LocalTransportOptions,
  command: readonly string[],
  { body, signal, sending }: TransportRequest,
): Promise<readonly Uint8Array[]> {
  const { gitDirectory, commonDirectory } = await findGitDirectory(path);
  // That the operator named this repository is the consent that git asks for where its files belong to somebody else.
  const trusted = new Set([path, gitDirectory, commonDirectory]);
  const consent = [...trusted].flatMap((each) => ['-c', `safe.directory=${each}`]);
  sending?.();
  return await runGit({
    args: [...consent, ...command, path],
    input: body,
    name: path,
    answerBytesMax,
    signal,
    // Killed, it would leave locks in a repository that is not ours.
    ending: 'SIGTERM',
  });
}
