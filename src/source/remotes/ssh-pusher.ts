// Pushes over ssh with the system's git and ssh, from a temporary repository that borrows the objects of the local
// copy.

import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { initRepository, makePrivateDirectory, PRIVATE_DIRECTORY, PRIVATE_FILE } from '../../git/bare-repository.ts';
import { GitFailure, runGit } from '../../git/git-process.ts';
import { reasonOf } from '../../model/quote.ts';
import { copyIn } from '../local-copy.ts';
import type { PushOutcome } from '../publisher.ts';
import { SourceError } from '../source.ts';
import { HEADS } from './advertisement.ts';
import { branchExists, judgeRefusal, refused, unknownOutcome } from './push-refusal.ts';
import type { Pusher, PushOrder } from './pusher.ts';
import { sshEnvironment } from './ssh-environment.ts';
import { sshFailure } from './ssh-failure.ts';

interface SshPusherOptions {
  /** `ssh://…` or `user@host:path`; see repository-url.ts. */
  readonly url: string;
  /** The directory of the local copy, which holds the history that is pushed onto. */
  readonly cache: string;
  /** Limit for connecting, and for silence of the server, in milliseconds. */
  readonly silenceMs: number;
}

interface Repository {
  readonly path: string;
  /** The file to which git traces its packets. */
  readonly trace: string;
}

const PREFIX = 'push-';
const OUTPUT_BYTES_MAX = 1024 * 1024;
const REMOVALS_MAX = 5;
/** The update of a ref in the trace: from then on, the result is unknown without a report. */
const ORDERED = /push> [0-9a-f]{40} [0-9a-f]{40} refs\//;
/** The answers of hosts to a key that may read, but not write. */
const NOT_ALLOWED =
  /not allowed|read[- ]?only|permission to .* denied|write access|access denied|unauthorized|forbidden/i;

/** Returns the pusher. Sends no request yet. */
export function createSshPusher(options: SshPusherOptions): Pusher {
  const { url, cache } = options;
  let cleaning: Promise<void> | undefined;
  async function makeFolder(): Promise<string> {
    cleaning ??= removeLeftovers(cache).catch((error) => {
      cleaning = undefined;
      throw error;
    });
    await cleaning;
    return await mkdtemp(join(cache, PREFIX));
  }
  return {
    name: url,
    async push(order) {
      const path = await beforeSending(url, makeFolder);
      try {
        const repository = { path, trace: join(path, 'trace') };
        await beforeSending(url, () => fill(repository, options, order));
        return await push(repository, options, order);
      } finally {
        // A directory that cannot be removed is a leftover, and does not change the outcome of the push.
        await rm(path, { recursive: true, force: true, maxRetries: REMOVALS_MAX }).catch(() => undefined);
      }
    },
  };
}

/** A failure in here, such as a full disk, means that nothing was sent. */
async function beforeSending<Value>(name: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SourceError) throw error;
    const reason = reasonOf(error);
    throw new SourceError(`nothing could be pushed to "${name}": ${reason}`, { cause: error });
  }
}

/** Removes the directories of killed processes; one process uses the cache at a time. */
async function removeLeftovers(cache: string): Promise<void> {
  await makePrivateDirectory(cache);
  const names = (await readdir(cache)).filter((name) => name.startsWith(PREFIX));
  await Promise.all(names.map((name) => rm(join(cache, name), { recursive: true, force: true })));
}

async function fill(
  { path }: Repository,
  { url, cache }: SshPusherOptions,
  { pack, signal }: PushOrder,
): Promise<void> {
  await initRepository(path);
  await mkdir(join(path, 'objects', 'info'), PRIVATE_DIRECTORY);
  await writeFile(join(path, 'objects', 'info', 'alternates'), `${join(copyIn(cache), 'objects')}\n`, PRIVATE_FILE);
  const args = [`--git-dir=${path}`, 'index-pack', '--stdin'];
  await runGit({ args, input: pack, name: url, answerBytesMax: OUTPUT_BYTES_MAX, signal });
}

async function push(
  { path, trace }: Repository,
  { url, silenceMs }: SshPusherOptions,
  order: PushOrder,
): Promise<PushOutcome> {
  const { branch, old, commit, signal } = order;
  const ref = `${HEADS}${branch}`;
  // Git pushes only if the branch has its expected head; an empty one for a new branch.
  const lease = `--force-with-lease=${ref}:${old ?? ''}`;
  const args = [
    `--git-dir=${path}`,
    'push',
    '--porcelain',
    '--no-progress',
    '--no-verify',
    lease,
    url,
    `${commit}:${ref}`,
  ];
  const environment = { ...sshEnvironment(silenceMs), GIT_TRACE_PACKET: trace };
  try {
    await runGit({ args, environment, name: url, answerBytesMax: OUTPUT_BYTES_MAX, signal });
    return { is: 'pushed' };
  } catch (error) {
    const refusal = error instanceof GitFailure ? refusalIn(error.output, ref) : undefined;
    if (refusal?.kind === 'rejected') return old === null ? branchExists(url, branch) : { is: 'moved' };
    if (refusal?.kind === 'remote rejected' && error instanceof GitFailure) {
      const words = wordsIn(error.complaint);
      return judgeRefusal({ name: url, branch, isNew: old === null, reason: refusal.reason, words });
    }
    return (await wasOrdered(trace)) ? unknownOutcome(url, error) : failureOf(url, error);
  }
}

/** Parses the line about the ref; see git-push(1), "OUTPUT". */
function refusalIn(output: string, ref: string): { readonly kind: string; readonly reason: string } | undefined {
  const line = output.split('\n').find((each) => each.startsWith('!\t') && each.split('\t')[1]?.endsWith(`:${ref}`));
  const [, kind, reason = ''] = /\t\[([^\]]*)\](?: \((.*)\))?$/.exec(line ?? '') ?? [];
  return kind === undefined ? undefined : { kind, reason };
}

/** Returns the output of the remote, without that of the local git. */
function wordsIn(complaint: string): string {
  return complaint
    .split('\n')
    .filter((line) => line.startsWith('remote: '))
    .map((line) => line.slice('remote: '.length))
    .join('\n');
}

async function wasOrdered(trace: string): Promise<boolean> {
  try {
    return ORDERED.test(await readFile(trace, 'latin1'));
  } catch (error) {
    // Git creates the file with the first packet.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
}

/** Throws if the repository was not reached. */
function failureOf(name: string, error: unknown): PushOutcome {
  if (!(error instanceof GitFailure)) throw error;
  if (!NOT_ALLOWED.test(error.complaint)) throw sshFailure(name, error, 'pushed to');
  return refused(`"${name}" cannot be pushed to with this key: allow it there to write (${wordsOf(error)})`);
}

function wordsOf({ complaint }: GitFailure): string {
  return complaint.replace(/\s+/g, ' ').trim();
}
