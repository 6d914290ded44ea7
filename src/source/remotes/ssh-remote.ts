// Fetches over ssh with the system's git and ssh: ~/.ssh configures keys, known hosts and jumps as for any other use.
// Git fetches into the quarantine, where the objects are verified like those of any other remote.
import { devNull } from 'node:os';
import { initRepository } from '../../git/bare-repository.ts';
import { isOid } from '../../git/git-object.ts';
import { GitFailure, runGit } from '../../git/git-process.ts';
import { BOUNDED, BOUNDED_ENVIRONMENT, IncompleteError, type PackLimits, verifyPacks } from '../../git/index-pack.ts';
import { watchPackSize } from '../../git/pack-size.ts';
import { SourceError } from '../source.ts';
import { advertisedHeads, HEADS } from './advertisement.ts';
import { type FetchOrder, LIST_BYTES_MAX, type Remote } from './remote.ts';
import { SentSecrets } from './sent-secrets.ts';
import { sshEnvironment } from './ssh-environment.ts';
import { sshFailure } from './ssh-failure.ts';

interface SshRemoteOptions extends PackLimits {
  /** `ssh://…` or `user@host:path`; see repository-url.ts. */
  readonly url: string;
  /** Limit for connecting, and for silence of the server, in milliseconds. */
  readonly silenceMs: number;
}

/** Returns the remote. Sends no request yet. */
export function createSshRemote({ url, silenceMs, ...limits }: SshRemoteOptions): Remote {
  const environment = { ...sshEnvironment(silenceMs), ...BOUNDED_ENVIRONMENT };

  async function git(args: readonly string[], signal: AbortSignal): Promise<string> {
    try {
      const order = { args, environment, name: url, answerBytesMax: LIST_BYTES_MAX, signal };
      return Buffer.concat(await runGit(order)).toString('utf8');
    } catch (error) {
      throw error instanceof GitFailure ? sshFailure(url, error) : error;
    }
  }

  async function fetchInto({ quarantine, branch, lender, givesWay, signal }: FetchOrder): Promise<string> {
    await initRepository(quarantine, lender);
    const ref = `${HEADS}${branch}`;
    // Keeps a self-contained pack: packs are what is verified and added to the copy.
    const args = [`--git-dir=${quarantine}`, ...BOUNDED, 'fetch-pack', '--keep', '--no-progress', url, ref];
    const large = watchPackSize(quarantine, { ...limits, name: url });
    const fetched = await git(args, AbortSignal.any([signal, large.signal])).finally(() => large.stop());
    large.signal.throwIfAborted();
    // In a separate step: git 2.39 crashes if fetch-pack is to keep the pack and to verify it (fetch.fsckObjects).
    await verifyPacks({ ...limits, gitDirectory: quarantine, name: url, signal, givesWay }).catch((error: unknown) => {
      // Git does not tell here that the remote is one.
      if (!(error instanceof IncompleteError) || !/object \S+ is missing/.test(error.message)) throw error;
      const advice = 'if that repository is a shallow clone, run "git fetch --unshallow" in it';
      throw new SourceError(`${error.message}; ${advice}`, { cause: error });
    });
    const head = linesOf(fetched, ' ').find((line) => line.ref === ref)?.oid;
    if (head === undefined || !isOid(head)) throw new SourceError(`"${url}" named no commit`);
    return head;
  }

  return {
    name: url,
    secrets: new SentSecrets(),
    async branches({ signal }) {
      // No repository: not even the one in whose directory Treeline was started.
      const listed = await git([`--git-dir=${devNull}`, 'ls-remote', '--heads', url], signal);
      return { heads: advertisedHeads(url, linesOf(listed, '\t')), fetchInto };
    },
  };
}

/** Parses lines of an object id and a name. */
function linesOf(text: string, between: string): readonly { readonly oid: string; readonly ref: string }[] {
  return text
    .split('\n')
    .map((line) => line.split(between))
    .flatMap(([oid, ref]) => (oid !== undefined && ref !== undefined ? [{ oid, ref }] : []));
}
