// Adds a long history to a repository, the same at each run: noise that hardly compresses, beside changes of instances.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { GitRepository } from '../test/support/git-repository.ts';
import { instancePath, instanceText } from '../test/support/sized-repository.ts';

interface HistorySize {
  readonly commits: number;
  /** Instances `instance-0`, … are changed in turn. */
  readonly instances: number;
  /** Servers of each instance. */
  readonly servers: number;
  readonly kinds: number;
}

const NOTES = 1500;
const FOLDERS = 30;
/** Of one note; as text a third more, of which git's compression saves a quarter. */
const NOISE_BYTES = 7392;
const FIRST_SECOND = 1_800_100_000;

/** Adds the commits to `main`, and packs the repository into one pack as a host does. */
export async function addHistory(repository: GitRepository, size: HistorySize): Promise<void> {
  const child = spawn('git', ['-C', repository.path, 'fast-import', '--quiet'], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const ended = once(child, 'close');
  const numbers = pseudoRandom();
  child.stdin.write('reset refs/heads/main\nfrom refs/heads/main^0\n\n');
  for (let commit = 0; commit < size.commits; commit += 1) {
    if (!child.stdin.write(commitOf(commit, numbers, size))) await once(child.stdin, 'drain');
  }
  child.stdin.end();
  const [code] = await ended;
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`);
  await repository.git('repack', '-a', '-d', '-q');
}

function commitOf(commit: number, numbers: () => number, { instances, servers, kinds }: HistorySize): string {
  const instance = commit % instances;
  const note = numbers() % NOTES;
  const text = instanceText({ kind: instance % kinds, servers, version: String(commit) });
  return [
    `commit refs/heads/main\ncommitter Bench <bench@example.org> ${FIRST_SECOND + commit} +0000\n`,
    dataOf(`Change note ${note}`),
    `M 100644 inline ${instancePath(instance)}\n${dataOf(text)}`,
    `M 100644 inline notes/${note % FOLDERS}/note-${note}.txt\n${dataOf(noiseOf(numbers))}`,
  ].join('');
}

function dataOf(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}\n`;
}

function noiseOf(numbers: () => number): string {
  const bytes = Buffer.allocUnsafe(NOISE_BYTES);
  for (let at = 0; at < NOISE_BYTES; at += 4) bytes.writeUInt32LE(numbers(), at);
  return bytes.toString('base64').replace(/.{76}/g, '$&\n');
}

/** Returns a generator of 32-bit numbers, the same at each call: Marsaglia's xorshift. */
function pseudoRandom(): () => number {
  let state = 2_463_534_242;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}
