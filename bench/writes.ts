// The benchmark `writes`: how many changes a second come to a local repository through the interface, beside
// `git commit && git push` by the real git in the same minutes. docs/benchmarks.md says how to read it.
import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runGit } from '../test/support/git-repository.ts';
import { type HttpsClient, keepAlive } from '../test/support/https-client.ts';
import { repositoryFiles } from '../test/support/sized-repository.ts';
import { machineOf, say, wholeNumber } from './machine.ts';
import { markdownTable, median } from './markdown-table.ts';
import { ServedController } from './served-controller.ts';
import { createSite, type Site } from './site.ts';

const ROUNDS_MAX = 100;
const INSTANCES_MAX = 10_000;
const SERVERS_AN_INSTANCE = 2;
/** In each round. */
const ALONE = 20;
const WRITERS = 20;
const WRITES_OF_EACH = 5;

/** Changes a second, in one round. */
interface Round {
  readonly git: number;
  readonly alone: number;
  readonly together: number;
}

/**
 * Prints a report in Markdown, with progress on standard error. Returns whether every write was answered with 201 and is
 * in the history once.
 */
export async function benchWrites(args: readonly string[]): Promise<boolean> {
  const { rounds, instances } = optionsOf(args);
  const folder = mkdtempSync(join(tmpdir(), 'treeline-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  const site = await createSite(folder, { ...repositoryFiles({ instances, servers: SERVERS_AN_INSTANCE }) });
  const controller = new ServedController(site, 'writes');
  await controller.ready();
  await controller.quiet();
  const measured = await measureRounds(site, await controller.client(), rounds);
  await controller.stop();
  const isWhole = await isHistoryWhole(site, rounds);
  process.stdout.write(`${reportOf(measured, instances)}\n`);
  if (!isWhole) process.stdout.write('\n**The history is not what was written.**\n');
  return isWhole;
}

async function measureRounds(site: Site, client: HttpsClient, rounds: number): Promise<readonly Round[]> {
  const clone = join(site.folder, 'clone');
  await runGit(['clone', '--quiet', site.repository.path, clone]);
  const measured: Round[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const git = await rateOf(ALONE, () => commitAndPush(clone, round));
    const alone = await rateOf(ALONE, () => write(client, { writer: 'alone', round, writes: ALONE }));
    const together = await rateOf(WRITERS * WRITES_OF_EACH, async () => {
      const writers = Array.from({ length: WRITERS }, (_, index) => `writer-${index}`);
      await Promise.all(writers.map((writer) => write(client, { writer, round, writes: WRITES_OF_EACH })));
    });
    measured.push({ git, alone, together });
    const rates = [git, alone, together].map((rate) => rate.toFixed(1)).join(', ');
    say(`round ${round} of ${rounds}: a second, git ${rates.replace(', ', '; through the interface ')}`);
  }
  return measured;
}

async function rateOf(count: number, work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return count / ((performance.now() - start) / 1000);
}

/** As a person or a pipeline would, with nobody else writing. */
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
    const body = JSON.stringify({ name: writer, round, revision });
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

function reportOf(rounds: readonly Round[], instances: number): string {
  const git = median(rounds.map((round) => round.git));
  const rowOf = (title: string, read: (round: Round) => number): string[] => {
    const rate = median(rounds.map(read));
    const ratio = median(rounds.map((round) => read(round) / round.git));
    return [title, rate.toFixed(1), `× ${ratio.toFixed(2)}`];
  };
  const table = markdownTable(
    ['writes', 'a second', 'beside git'],
    [
      ['git commit && git push', git.toFixed(1), '× 1.00'],
      rowOf('one at a time', ({ alone }) => alone),
      rowOf(`${WRITERS} at once`, ({ together }) => together),
    ],
  );
  return `${machineOf()}. Rounds: ${rounds.length}. Instances: ${instances}.\n\n${table}`;
}

function optionsOf(args: readonly string[]): { readonly rounds: number; readonly instances: number } {
  const { values } = parseArgs({
    args: [...args],
    options: { rounds: { type: 'string', default: '5' }, instances: { type: 'string', default: '100' } },
  });
  return {
    rounds: wholeNumber(values.rounds, { option: '--rounds', max: ROUNDS_MAX }),
    instances: wholeNumber(values.instances, { option: '--instances', max: INSTANCES_MAX }),
  };
}
