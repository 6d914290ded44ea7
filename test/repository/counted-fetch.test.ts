// Counts what the fetch of one small commit costs over HTTP, beside a short and a long history.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createGitSource } from '../../src/repository/git-source.ts';
import { startGitHttpServer } from '../support/git-http-server.ts';
import { createGitRepository, type FileChanges } from '../support/git-repository.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

interface Cost {
  readonly requests: readonly string[];
  /** Of all answers. */
  readonly answerBytes: number;
  /** Packs and their indexes that were added to the local copy. */
  readonly files: number;
  readonly fileBytes: number;
}

/** Returns the cost of fetching one commit that changes one file of twenty, after `commits` others. */
async function costAfter(commits: number): Promise<Cost> {
  const folder = temporaryDirectory();
  const repository = await createGitRepository(join(folder, 'stacks.git'));
  const change = (version: number): FileChanges => ({ [`folder/file-${version % 20}.yaml`]: `version: ${version}\n` });
  await repository.commitAll(Array.from({ length: commits }, (_, version) => ({ files: change(version) })));
  const server = await startGitHttpServer({ repository: repository.path });
  const cache = join(folder, 'cache');
  const source = await createGitSource({ url: server.url, branch: 'main', directory: '.', cache });
  const { oid } = await source.fetch(null);
  const before = packFiles(cache);
  const requestsBefore = server.requests.length;
  let answerBytes = 0;
  server.misbehave = async ({ response, answer }) => {
    const { status, headers, body } = await answer();
    answerBytes += body.length;
    response.writeHead(status, headers).end(body);
    return true;
  };
  await repository.commit(change(commits));
  await source.fetch(oid);
  await source.close();
  const after = packFiles(cache);
  return {
    requests: server.requests.slice(requestsBefore).map(({ line }) => line),
    answerBytes,
    files: after.count - before.count,
    fileBytes: after.bytes - before.bytes,
  };
}

function packFiles(cache: string): { readonly count: number; readonly bytes: number } {
  const folder = join(cache, 'repository.git', 'objects', 'pack');
  const names = readdirSync(folder);
  return { count: names.length, bytes: names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0) };
}

describe('the fetch of one commit', () => {
  it('takes two requests, and as many bytes after a long history as after a short one', async () => {
    const short = await costAfter(20);
    const long = await costAfter(60);
    const requests = ['GET /stacks.git/info/refs?service=git-upload-pack', 'POST /stacks.git/git-upload-pack'];
    for (const cost of [short, long]) {
      expect(cost).toMatchObject({ requests, files: 2 });
      // The commit, two trees, of which one has 20 entries, and a file of a line.
      expect(cost.answerBytes).toBeLessThan(2_500);
      // An index has a table of 1 KiB.
      expect(cost.fileBytes).toBeLessThan(4_000);
    }
    expect(Math.abs(long.answerBytes - short.answerBytes)).toBeLessThan(100);
    expect(Math.abs(long.fileBytes - short.fileBytes)).toBeLessThan(100);
  });
});
