// Of a value that another server's output gives, a client is told the server only where it sees that.
import { expect, it } from 'vitest';
import { nodeOf } from '../../src/desired/node-records.ts';
import { explainNode } from '../../src/hiera/explain-node.ts';
import type { Client } from '../../src/model/objects.ts';
import { partOfState } from '../../src/service/seen-sources.ts';
import { TextRepository } from '../support/text-repository.ts';

const BY: Client = {
  ...{ name: 'B1', type: 'client', description: '', role: 'proxy', fingerprint: '', serial: 'B1', tenant: '' },
  ...{ reads: 'site', tags: ['x'] },
};

it.each([
  ['x', ['db']],
  ['y', []],
])('a server of the site x takes the output of one of the site %s', (tag, servers) => {
  const desired = new TextRepository().commit({
    'tree.yaml': 'name: global\ntype: common\n',
    'clients/A1.yaml': 'role: administrator\n',
    'clients/B1.yaml': 'role: proxy\ntags: [x]\nreads: site\n',
    'stacks/templates/t.yaml': `resources:
  db: { type: Platform::Server, properties: { name: db, ProxyTag: ${tag} } }
  web: { type: Platform::Server, properties: { name: web, ProxyTag: x, url: "<<(Output)['db']['address']>>" } }
`,
    'stacks/instances/shop.yaml': 'stackTemplate: t\n',
  });
  const seen = partOfState(desired, BY)?.records.desired();
  const node = seen && nodeOf(seen, 'web');
  const facts = { outputs: {}, updated: '', properties: { url: '10.0.0.1' } };
  const { keys } = explainNode(node ?? expect.fail(), { ...facts, root: 'global', commit: null, key: 'url' });
  expect(keys.url).toMatchObject({ value: '10.0.0.1', statements: [{ outputs: [{ output: 'address', servers }] }] });
});
