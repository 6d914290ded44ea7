// Of a value that another server's output gives, a client is told the server only where it sees that.
import { expect, it, test } from 'vitest';
import { finish } from '../../src/base/steps.ts';
import { nodeOf } from '../../src/desired/node-records.ts';
import { explainNode } from '../../src/hiera/explain-node.ts';
import type { Client } from '../../src/model/objects.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import { serverItems } from '../../src/service/progress/server-items.ts';
import { partOfState } from '../../src/service/seen-sources.ts';
import { specOf } from '../reconcile/build.ts';
import { Core } from '../reconcile/core.ts';
import { serverRow } from '../support/rows.ts';
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

test('nothing is said of a value that a server which is not seen has given', () => {
  const reads = { url: { isList: false, texts: [[{ output: 'address', of: 'db' }]] } };
  const wanted = specOf('small', { properties: { url: '10.0.0.1' }, reads });
  const [web, db] = [serverRow({ state: 'done', wanted }), serverRow({ state: 'done' })];
  const reasons = (rows: Readonly<Record<string, ServerRow>>): unknown => {
    const nothing = { waitOf: () => undefined, checkFailureOf: () => undefined, showsValues: true };
    return serverItems(['web'], { ...nothing, rows: { server: (name) => rows[name] } }, 10).map(({ reason }) => reason);
  };
  expect(reasons({ web, db })).toEqual([expect.stringContaining('it keeps its last "url"')]);
  expect(reasons({ web })).toEqual([]);
});

test('the specs of recorded servers name no server that is not seen', async () => {
  const core = new Core();
  core.source.commit({
    'clients/A1.yaml': 'role: administrator\n',
    'tree.yaml': 'name: global\ntype: common\n',
    'stacks/templates/t.yaml': `resources:
  db: { type: Platform::Server, properties: { name: db-hidden, ProxyTag: y } }
  web:
    type: Platform::Server
    properties:
      { name: web, ProxyTag: x, depends_on: [db], url: "http://<<(Output)['db']['address']>>/", all: "<<(Array)['db']['name']>>" }
`,
    'stacks/instances/shop.yaml': 'stackTemplate: t\n',
  });
  await core.poll();
  const whole = finish(core.operator.recorded());
  expect(whole.servers.find(({ name }) => name === 'web')?.wanted).toMatchObject({ dependsOn: ['db-hidden'] });
  const { servers } = finish(core.operator.recorded(BY));
  expect(servers.map(({ name }) => name)).toEqual(['web']);
  expect(servers[0]?.wanted).toMatchObject({ dependsOn: [], lists: [], reads: { url: { isList: false } } });
});
