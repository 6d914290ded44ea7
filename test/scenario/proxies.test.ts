// The controller and real proxies, each in a process of its own, with real programs, whose log shows that nothing ran twice. The
// simulator cuts the line between them and kills either.
import { expect, it, onTestFinished } from 'vitest';
import { createHttpsClient, keepAll } from '../support/https-client.ts';
import { actionsIn, callFaults, markingEntry } from '../support/marking-server.ts';
import { registerProxy } from '../support/registered-proxy.ts';
import { ServingProcess } from '../support/serving-process.ts';
import { createSiteIn } from '../support/site-on-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const PATIENCE = { timeout: 60_000, interval: 50 };

function stackOf(count: number) {
  return {
    'tree.yaml': 'name: global\ntype: common\n',
    'stacks/templates/t.yaml': `resources:
  web:
    type: Platform::ResourceGroup
    properties: { count: "${count}", resource_def: { properties: { name: "web-<<index>>", ProxyTag: lab } } }
`,
    'stacks/instances/shop.yaml': 'stackTemplate: t\n',
  };
}

it('two proxies with one tag share the actions without repeating one', async () => {
  const provided = temporaryDirectory();
  const execution = '  proxied: { timeoutSeconds: 60 }';
  const options = { files: stackOf(1), repository: ', pollSeconds: 1', execution, provider: 'none' };
  const site = await createSiteIn(temporaryDirectory(), options);
  const port = await new ServingProcess(site.config).port();
  const agent = keepAll();
  onTestFinished(() => agent.destroy());
  const { request } = createHttpsClient({ port, ca: site.ca }, site.administrator, agent);
  const states = async (): Promise<unknown> => {
    const { web } = (await request('/stacks/instances/shop/status/full')).body as { readonly web?: object };
    return Object.values(web ?? {}).map(({ state }) => state);
  };
  await expect.poll(states, PATIENCE).toEqual(['blocked']);
  for (const name of ['north', 'south']) {
    const entry = markingEntry(provided, { seconds: 0.3, replica: name });
    const proxy = new ServingProcess(
      await registerProxy(name, { site, port, concurrency: 1, tags: ['lab'], entry }),
      'proxy',
    );
    await proxy.logged('proxy started');
  }
  await expect.poll(states, PATIENCE).toEqual(['done']);
  await site.repository.commit(stackOf(8));
  await expect.poll(states, PATIENCE).toEqual(Array(8).fill('done'));
  const actions = actionsIn(provided);
  expect(new Set(actions.map(({ replica }) => replica))).toEqual(new Set(['north', 'south']));
  expect(actions).toHaveLength(8);
  expect(callFaults(provided)).toEqual([]);
});
