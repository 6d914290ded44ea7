// A push hook on the whole controller: the remote is polled once an hour, and a hook makes the commit known at once.
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startGitHttpServer } from '../support/git-http-server.ts';
import { runController } from '../support/running-controller.ts';
import { createSite } from '../support/site.ts';

const FILES = { 'tree.yaml': 'name: all\ntype: common\n', 'types/role/web.yaml': 'port: "80"\n' };
const BODY = '{"ref":"refs/heads/main"}';

it('a webhook with the secret starts a poll, and one without does not', async () => {
  const site = await createSite(FILES);
  const { url } = await startGitHttpServer({ repository: site.repository.path });
  const secretFile = join(site.folder, 'secret');
  writeFileSync(secretFile, 'geheim\n');
  const { controller, untilDone, get, logged } = await runController(site, (settings) => ({
    ...settings,
    repository: { ...settings.repository, url, pollSeconds: 3600 },
    webhook: { host: '127.0.0.1', port: 0, secretFile },
  }));
  const { webhook } = controller;
  expect((await logged('listening')).webhook).toEqual(webhook);
  await untilDone(await site.repository.head());

  const push = async (secret: string): Promise<number> => {
    const signature = createHmac('sha256', secret).update(BODY).digest('hex');
    const headers = { 'X-Hub-Signature-256': `sha256=${signature}` };
    const address = `http://${webhook?.host}:${webhook?.port}/webhook`;
    return (await fetch(address, { method: 'POST', headers, body: BODY })).status;
  };
  const commit = await site.repository.commit({ 'types/role/db.yaml': 'port: "5432"\n' });
  expect(await push('other')).toBe(401);
  expect((await get('/types/role/db/')).status).toBe(404);
  expect(await push('geheim')).toBe(202);
  await untilDone(commit);
  expect((await get('/types/role/db/')).status).toBe(200);

  await controller.stop();
  await expect(push('geheim')).rejects.toThrow();
});
