// Tests a second start of the demo: it keeps valid certificates and the repository, and renews what expires.
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ensureCredentials } from '../../src/cli/demo/credentials.ts';
import { ensureRepository } from '../../src/cli/demo/stacks-repository.ts';
import { runGit } from '../support/git-repository.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

it('registers one administrator, whose certificate it made', async () => {
  const folder = temporaryDirectory();
  const repository = join(folder, 'stacks.git');
  const { clients } = await ensureCredentials(join(folder, 'pki'), Date.now());
  await ensureRepository(repository, clients);
  const found = await runGit(['-C', repository, 'grep', '-l', '^role: administrator', 'HEAD', '--', 'clients/']);
  const { serialNumber } = new X509Certificate(await readFile(clients.administrator.cert));
  expect(found.trim()).toBe(`HEAD:clients/demo/${serialNumber}.yaml`);
});

it('keeps certificates until a month before they end, then issues and registers others', async () => {
  const folder = temporaryDirectory();
  const repository = join(folder, 'stacks.git');
  const start = async (now: number) => {
    const credentials = await ensureCredentials(join(folder, 'pki'), now);
    await ensureRepository(repository, credentials.clients);
    return {
      authority: await readFile(credentials.ca, 'utf8'),
      administrator: await readFile(credentials.clients.administrator.cert, 'utf8'),
      log: (await runGit(['-C', repository, 'log', '--format=%s'])).trim().split('\n'),
      clients: (await runGit(['-C', repository, 'ls-tree', '--name-only', 'HEAD', 'clients/demo/'])).trim().split('\n'),
    };
  };
  const now = Date.now();
  const first = await start(now);
  expect(first.log).toEqual(['Start from the sample repository']);
  expect(first.clients).toHaveLength(6);
  expect(await start(now + 300 * DAY_MS)).toEqual(first);

  const renewed = await start(now + 340 * DAY_MS);
  expect(renewed.authority).toBe(first.authority);
  expect(renewed.administrator).not.toBe(first.administrator);
  expect(renewed.log).toEqual(['Renew the demo clients', 'Start from the sample repository']);
  expect(renewed.clients).toHaveLength(6);
  expect(renewed.clients).not.toEqual(first.clients);
});
