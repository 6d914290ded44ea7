// The inventory of 10,000 servers: one request, which takes less than 5 s of a processor with the start of Ansible; and none of them is
// sent again.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createAnsible, HAS_ANSIBLE, listAnswers, NO_ANSIBLE } from '../support/ansible.ts';
import { runController } from '../support/running-controller.ts';
import { createSite } from '../support/site.ts';
import { repositoryFiles } from '../support/sized-repository.ts';

const SERVERS = 10_000;
const SECONDS_MAX = 5;
const PATIENCE = { timeout: 300_000, interval: 1_000 };

it.runIf(HAS_ANSIBLE)(`brings 10,000 servers in one request${NO_ANSIBLE}`, async () => {
  const site = await createSite(repositoryFiles({ instances: SERVERS / 20, servers: 20 }));
  const { controller, get } = await runController(site);
  const done = async (): Promise<unknown> => (await get('/operations/servers?state=done&limit=1')).body;
  await expect.poll(done, PATIENCE).toMatchObject({ total: SERVERS });
  const pki = (name: string): string => join(site.folder, 'pki', name);
  const { parse } = createAnsible({
    server: `https://127.0.0.1:${controller.api.port}`,
    ...{ ca: pki('ca.crt'), cert: pki('administrator.crt'), key: pki('administrator.key') },
  });
  for (const answers of [{ 200: 1 }, { 200: 1, 304: 1 }]) {
    const [said = ''] = await parse(['all']);
    const [hosts, seconds] = said.match(/[\d.]+/g) ?? [];
    expect(Number(hosts)).toBe(SERVERS);
    expect(Number(seconds)).toBeLessThan(SECONDS_MAX);
    expect(await listAnswers(controller)).toEqual(answers);
  }
});
