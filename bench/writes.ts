// The benchmark `writes`: changes per second to a local repository through the interface, compared with `git commit &&
// git push` in the same run. docs/benchmarks.md explains the results.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runGit } from '../test/support/git-repository.ts';
import { type HttpsClient, keepAlive } from '../test/support/https-client.ts';
import { repositoryFiles } from '../test/support/sized-repository.ts';
import {
  type BenchContext,
  type BenchPart,
  median,
  type PartReport,
  type PartRow,
  rowOf,
  type Target,
} from './bench-row.ts';
import { serveNewSite } from './served-controller.ts';
import type { Site } from './site.ts';

const SERVERS_AN_INSTANCE = 2;
/** The number of single writes in each round. */
const ALONE = 20;
const WRITERS = 20;
const WRITES_OF_EACH = 5;
const ALONE_RATIO_MIN = 1;
const TOGETHER_MIN = 200;

/** Changes per second in one round. */
interface Round {
  readonly git: number;
  readonly alone: number;
  readonly together: number;
}

/** The part `writes` of the table. It fails if a write is not in the history exactly once. */
export const WRITES: BenchPart = {
  name: 'writes',
  summary: 'changes through the interface to a local repository, beside `git commit && git push`',
  run: benchWrites,
};

async function benchWrites({ folder, isQuick, say }: BenchContext): Promise<PartReport> {
  const [rounds, instances] = isQuick ? [1, 10] : [5, 100];
  const files = repositoryFiles({ instances, servers: SERVERS_AN_INSTANCE });
  const controller = await serveNewSite(folder, 'writes', files);
  const { site } = controller;
  const client = await controller.client();
  const clone = join(site.folder, 'clone');
  await runGit(['clone', '--quiet', site.repository.path, clone]);
  const measured: Round[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    measured.push(await measureRound(clone, client, round));
    say(`round ${round} of ${rounds}: ${JSON.stringify(measured.at(-1))}`);
  }
  await controller.stop();
  const isWhole = await isHistoryWhole(site, rounds);
  return {
    rows: rowsOf(measured),
    failures: isWhole ? [] : ['the history is not what was written'],
  };
}

async function measureRound(clone: string, client: HttpsClient, round: number): Promise<Round> {
  const git = await rateOf(ALONE, () => commitAndPush(clone, round));
  const alone = await rateOf(ALONE, () => write(client, { writer: 'alone', round, writes: ALONE }));
  const together = await rateOf(WRITERS * WRITES_OF_EACH, async () => {
    const writers = Array.from({ length: WRITERS }, (_, index) => `writer-${index}`);
    await Promise.all(writers.map((writer) => write(client, { writer, round, writes: WRITES_OF_EACH })));
  });
  return { git, alone, together };
}

function rowsOf(rounds: readonly Round[]): readonly PartRow[] {
  const git = median(rounds.map((round) => round.git));
  const row = (how: string, read: (round: Round) => number, target: Target): PartRow => {
    const ratio = median(rounds.map((round) => read(round) / round.git));
    const peer = { name: 'git commit && git push', value: git, ratio };
    return rowOf({
      work: `POST into a local remote, ${how}`,
      value: median(rounds.map(read)),
      unit: '/s',
      target,
      peer,
    });
  };
  return [
    row('one at a time', ({ alone }) => alone, { ratioMin: ALONE_RATIO_MIN }),
    row(`${WRITERS} writers`, ({ together }) => together, { atLeast: TOGETHER_MIN }),
  ];
}

async function rateOf(count: number, work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return count / ((performance.now() - start) / 1000);
}

/** Commits and pushes like an operator or a pipeline, without other writers. */
async function commitAndPush(clone: string, round: number): Promise<void> {
  await runGit(['-C', clone, 'pull', '--quiet', '--rebase']);
  for (let revision = 0; revision < ALONE; revision += 1) {
    await writeFile(join(clone, 'by-hand.txt'), `${round} ${revision}\n`);
    await runGit(['-C', clone, 'add', 'by-hand.txt']);
    await runGit(['-C', clone, 'commit', '--quiet', '-m', `By hand ${round} ${revision}`]);
    await runGit(['-C', clone, 'push', '--quiet']);
  }
}

interface Writes {
  readonly writer: string;
  readonly round: number;
  readonly writes: number;
}

async function write(client: HttpsClient, { writer, round, writes }: Writes): Promise<void> {
  const agent = keepAlive();
  const headers = { 'Content-Type': 'application/json' };
  for (let revision = 0; revision < writes; revision += 1) {
    // The name is not in the file: without the owner, all writers would write the same content, and so the same git
    // object.
    const body = JSON.stringify({ name: writer, owner: writer, round, revision });
    const reply = await client.request('/types/configuration/', { method: 'POST', headers, body, agent });
    if (reply.status !== 201) throw new Error(`${body} was answered with ${reply.bytes}`);
  }
  agent.destroy();
}

async function isHistoryWhole({ repository }: Site, rounds: number): Promise<boolean> {
  const subjects = (await repository.git('log', '--format=%s', 'main')).split('\n');
  const count = (start: string): number => subjects.filter((subject) => subject.startsWith(start)).length;
  const written = rounds * (ALONE + WRITERS * WRITES_OF_EACH);
  return count('Set configuration ') === written && count('By hand ') === rounds * ALONE;
}
