// Tests that the cost of a commit depends on its changes and not on the size of the desired state. Counts the work of a
// whole controller: a real Git repository, the embedded store and its journal, and a provider that answers at once.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { createLog } from '../src/base/log.ts';
import { ensureCredentials } from '../src/cli/demo/credentials.ts';
import { type Controller, startController } from '../src/compose.ts';
import type { JsonMap } from '../src/model/json.ts';
import { loadSettings } from '../src/settings/load-settings.ts';
import { SqliteAdapter } from '../src/store/sqlite-adapter.ts';
import { createGitRepository, type FileChanges, type GitRepository } from './support/git-repository.ts';
import { instancePath, instanceText, repositoryFiles, rolePath, roleText } from './support/sized-repository.ts';

/** Ten instances share each template, role and environment. */
const SIZE = { instances: 1_000, servers: 2, kinds: 100 };
const WAIT = { timeout: 60_000, interval: 50 };

const SETTINGS = `
api: { host: 127.0.0.1, port: 0, tls: { key: pki/server.key, cert: pki/server.crt, clientCa: pki/ca.crt } }
management: { host: 127.0.0.1, port: 0 }
repository: { url: stacks.git, branch: main, pollSeconds: 1 }
store: { kind: lowdb, directory: state }
execution:
  concurrency: 200
  providers:
    - { name: instant, provider: simulated, concurrency: 200, options: { createMs: 0, updateMs: 0, deleteMs: 0 } }
`;

/** A row or an event as a commit writes it. */
type WrittenRow = readonly [kind: string, name: string, value: JsonMap | null];

let folder: string;
let repository: GitRepository;
let controller: Controller;
const lines: JsonMap[] = [];
const writes: WrittenRow[] = [];

/** Notes every row and event that is written; not the history of commits, which has one small row a commit. */
function noteWrites(): void {
  const { write } = SqliteAdapter.prototype;
  vi.spyOn(SqliteAdapter.prototype, 'write').mockImplementation(function (this: SqliteAdapter, document) {
    for (const [kind, name, json] of document.unsaved?.rows ?? []) {
      if (kind !== 'commit') writes.push([kind, name, JSON.parse(json ?? 'null')]);
    }
    for (const [, instance] of document.unsaved?.events ?? []) writes.push(['event', instance, null]);
    return write.call(this, document);
  });
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'treeline-'));
  repository = await createGitRepository(join(folder, 'stacks.git'));
  await repository.commit(repositoryFiles(SIZE));
  await ensureCredentials(join(folder, 'pki'), Date.now());
  writeFileSync(join(folder, 'treeline.yaml'), SETTINGS);
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line)) });
  noteWrites();
  controller = await startController(await loadSettings(join(folder, 'treeline.yaml'), {}), { log });
  await quiet({ commits: 1 });
  return async () => {
    vi.restoreAllMocks();
    await controller.stop();
    rmSync(folder, { recursive: true });
  };
});

function followed(): readonly JsonMap[] {
  return lines.filter(({ msg }) => msg === 'commit followed');
}

/** Waits until so many commits were followed and every server is done. */
async function quiet({ commits }: { readonly commits: number }): Promise<void> {
  await vi.waitFor(() => expect(followed().length).toBe(commits), WAIT);
  await vi.waitFor(() => {
    const statuses = new Set(
      controller
        .reader()
        .instances()
        .map(({ name }) => controller.reader().status(name)),
    );
    expect(statuses).toEqual(new Set(['Done']));
  }, WAIT);
}

/** Pushes a change, and returns what following it cost and every row that was written until all was done again. */
async function push(changes: FileChanges): Promise<{ cost: JsonMap | undefined; rows: readonly WrittenRow[] }> {
  writes.length = 0;
  const commits = followed().length + 1;
  await repository.commit(changes);
  await quiet({ commits });
  return { cost: followed().at(-1), rows: [...writes] };
}

/** The states that the rows of each server went through, and how often other rows were written. */
function written(rows: readonly WrittenRow[]): Readonly<Record<string, readonly unknown[]>> {
  const byName = Map.groupBy(rows, ([kind, name]) => `${kind} ${name}`);
  return Object.fromEntries([...byName].map(([name, all]) => [name, all.map(([, , value]) => value?.state)]));
}

test('the first commit derives the whole desired state', () => {
  expect(followed()[0]).toMatchObject({
    filesParsed: SIZE.instances + 3 * SIZE.kinds + 4,
    instancesExpanded: SIZE.instances,
    recordsMerged: SIZE.instances * SIZE.servers,
    servers: SIZE.instances * SIZE.servers,
  });
});

describe('in a desired state of 1,000 instances', () => {
  test('a change of one instance derives that instance', async () => {
    const changed = instanceText({ kind: 7, servers: SIZE.servers, version: '2' });
    const { cost, rows } = await push({ [instancePath(7)]: changed });
    expect(cost).toMatchObject({ blobsRead: 1, filesParsed: 1, instancesExpanded: 1, servers: SIZE.servers });
    expect(cost?.recordsMerged).toBeLessThanOrEqual(SIZE.servers);
    expect(written(rows)).toEqual({
      // One for each new state of a server.
      'event instance-7': Array.from({ length: 3 * SIZE.servers }, () => undefined),
      'head head': [undefined],
      'server instance-7-web-1': ['pending', 'updating', 'done'],
      'server instance-7-web-2': ['pending', 'updating', 'done'],
    });
  });

  test('a change of configuration derives its users, and writes only the head', async () => {
    const { cost, rows } = await push({ [rolePath(7)]: roleText(9000) });
    const users = SIZE.instances / SIZE.kinds;
    expect(cost).toMatchObject({ blobsRead: 1, filesParsed: 1, instancesExpanded: users, servers: 0 });
    expect(written(rows)).toEqual({ 'head head': [undefined] });
    expect(controller.reader().value('instance-7-web-1', 'port')).toBe(9000);
  });

  test('an unrelated file derives nothing', async () => {
    const { cost, rows } = await push({ 'README.md': '# Stacks\n' });
    expect(cost).toMatchObject({ blobsRead: 0, filesParsed: 0, instancesExpanded: 0, recordsMerged: 0, servers: 0 });
    expect(written(rows)).toEqual({ 'head head': [undefined] });
  });
});
