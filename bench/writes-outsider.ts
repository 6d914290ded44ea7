// Writers through the interface beside an outsider who commits and pushes with the real git without a pause, from a clone.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runGit } from '../test/support/git-repository.ts';
import { type HttpsClient, keepAlive } from '../test/support/https-client.ts';

interface OutsiderParts {
  readonly clone: string;
  readonly client: HttpsClient;
  readonly writers: number;
  readonly writesOfEach: number;
}

/** The outcomes of the writes, and the speed of both sides. */
export interface BesideOutsider {
  readonly written: number;
  /** Answered 503: nothing was written. */
  readonly refused: number;
  /** Commits of the outsider in a second. */
  readonly outsideRate: number;
}

/** Lets all of them write until everybody has an answer to each write. Throws for an answer that is neither 201 nor 503. */
export async function writeBesideOutsider(parts: OutsiderParts): Promise<BesideOutsider> {
  const { clone, client, writers, writesOfEach } = parts;
  await runGit(['-C', clone, 'pull', '--quiet', '--rebase']);
  const over = new AbortController();
  const start = performance.now();
  const outside = pushUntil(clone, over.signal);
  const answers = await Promise.all(
    Array.from({ length: writers }, (_, writer) => answersTo(client, `beside-${writer}`, writesOfEach)),
  );
  over.abort();
  const commits = await outside;
  const statuses = answers.flat();
  const written = statuses.filter((status) => status === 201).length;
  const outsideRate = commits / ((performance.now() - start) / 1000);
  return { written, refused: statuses.length - written, outsideRate };
}

async function answersTo(client: HttpsClient, name: string, writes: number): Promise<readonly number[]> {
  const agent = keepAlive();
  const headers = { 'Content-Type': 'application/json' };
  const statuses: number[] = [];
  for (let revision = 0; revision < writes; revision += 1) {
    const body = JSON.stringify({ name, revision });
    const reply = await client.request('/types/configuration/', { method: 'POST', headers, body, agent });
    if (reply.status !== 201 && reply.status !== 503) throw new Error(`${body} was answered with ${reply.bytes}`);
    statuses.push(reply.status);
  }
  agent.destroy();
  return statuses;
}

/** Returns how many commits arrived. */
async function pushUntil(clone: string, over: AbortSignal): Promise<number> {
  let count = 0;
  for (; !over.aborted; count += 1) {
    await writeFile(join(clone, 'outsider.txt'), `${count}\n`);
    await runGit(['-C', clone, 'add', 'outsider.txt']);
    await runGit(['-C', clone, 'commit', '--quiet', '-m', `Outside ${count}`]);
    while (!(await isPushed(clone))) await runGit(['-C', clone, 'pull', '--quiet', '--rebase']);
  }
  return count;
}

async function isPushed(clone: string): Promise<boolean> {
  try {
    await runGit(['-C', clone, 'push', '--quiet']);
    return true;
  } catch (error) {
    if (/rejected|cannot lock ref/.test(String(error))) return false;
    throw error;
  }
}
