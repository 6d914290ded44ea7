// Plans of servers that take outputs of others: what is not known is told as such, and what a controller has recorded is shown.
import { expect, it } from 'vitest';
import { invariant } from '../../src/base/invariant.ts';
import { wantsBlob } from '../../src/catalog/load-catalog.ts';
import { markdownReport } from '../../src/cli/plan/markdown-report.ts';
import { textPlan } from '../../src/cli/plan-command.ts';
import { takeOutputs } from '../../src/machine/read-outputs.ts';
import type { JsonMap } from '../../src/model/json.ts';
import type { Plan } from '../../src/plan/plan.ts';
import { planMerge } from '../../src/plan/plan-merge.ts';
import { safetyOfRecorded } from '../../src/plan/planned-safety.ts';
import { recordedChanges } from '../../src/plan/recorded-changes.ts';
import { withRecorded } from '../../src/plan/recorded-facts.ts';
import { snapshotOf } from '../catalog/snapshots.ts';
import { TextRepository, textsAfter } from '../support/text-repository.ts';
import { COMMIT, doneIn, planned } from './planned.ts';

const TEMPLATE = 'stacks/templates/web.yaml';
const template = (web: string): string =>
  `resources:\n  db: { type: Platform::Server, properties: { name: db } }\n  web: { type: Platform::Server, properties: { name: web, ${web} } }\n`;
const ADDRESS = template(`url: "<<(Output)['db']['address']>>"`);
const MAC = template(`url: "<<(Output)['db']['mac']>>"`);
const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'clients/A1.yaml': 'role: administrator\n',
  [TEMPLATE]: template('url: none'),
  'stacks/instances/shop.yaml': 'stackTemplate: web\n',
};
const UNKNOWN = { to: '(known after create of db)', knownAfter: ['db'] };

/** Plans a merge against a controller that has made both servers of these files, and whose `db` has reported this. */
function plannedOnRecorded(before: string, after: string, outputs: JsonMap = { address: '10.0.0.1' }): Plan {
  const files = { ...FILES, [TEMPLATE]: before };
  const desired = new TextRepository().commit(files);
  const facts = { outputsOf: () => outputs };
  const done = doneIn(desired, (spec) => takeOutputs(spec, { specs: [] }, facts));
  const servers = done.map((server) => ({ ...server, outputs: server.name === 'db' ? outputs : {} }));
  return planMerge({
    base: COMMIT,
    head: '2'.repeat(40),
    before: withRecorded(desired, servers),
    recorded: servers,
    snapshot: snapshotOf(textsAfter(files, { [TEMPLATE]: after }), { wants: wantsBlob(desired.catalog) }),
    safety: safetyOfRecorded({ servers, heldBefore: new Map(), budget: 100 }),
  });
}

it('planMerge shows an output as known after the create of another server', () => {
  const plan = planned({ ...FILES, [TEMPLATE]: ADDRESS }, { files: { 'tree.yaml': FILES['tree.yaml'] } });
  expect(plan.changes).toMatchObject([
    { resource: 'db' },
    { resource: 'web', properties: { url: { from: null, ...UNKNOWN } } },
  ]);
  expect(textPlan(plan)).toContain('    url: none -> (known after create of db)');
});

it('planMerge updates a property with another output in server and record', () => {
  const plan = planned({ [TEMPLATE]: ADDRESS }, { files: FILES });
  expect(plan.changes).toMatchObject([
    { action: 'update', resource: 'web', properties: { url: { from: 'none', ...UNKNOWN } } },
  ]);
  expect(plan.configuration).toMatchObject([{ key: 'url', from: 'none', to: UNKNOWN.to }]);
  expect(planned({ [TEMPLATE]: MAC }, { files: { ...FILES, [TEMPLATE]: ADDRESS } }).changes).toHaveLength(1);
  expect(planned({}, { files: { ...FILES, [TEMPLATE]: ADDRESS } }).changes).toEqual([]);
});

it('planMerge shows recorded outputs of a controller', () => {
  const { changes, configuration } = plannedOnRecorded(FILES[TEMPLATE], ADDRESS);
  expect(changes).toMatchObject([{ resource: 'web', properties: { url: { from: 'none', to: '10.0.0.1' } } }]);
  expect(configuration).toMatchObject([{ key: 'url', from: 'none', to: '10.0.0.1' }]);
  expect(plannedOnRecorded(ADDRESS, MAC).changes).toMatchObject([
    { resource: 'web', properties: { url: { from: '10.0.0.1', ...UNKNOWN } } },
  ]);
});

it('planMerge changes nothing if the text is unchanged', () => {
  expect(plannedOnRecorded(ADDRESS, ADDRESS).changes).toEqual([]);
  expect(plannedOnRecorded(ADDRESS, `${ADDRESS}# a comment\n`)).toMatchObject({ changes: [], configuration: [] });
});

it('planMerge keeps the applied output of a server that is wanted again', () => {
  const facts = { outputsOf: () => ({ address: '10.0.0.1' }) };
  const desired = new TextRepository().commit({ ...FILES, [TEMPLATE]: ADDRESS });
  const made = doneIn(desired, (spec) => takeOutputs(spec, { specs: [] }, facts));
  const recorded = made.filter(({ name }) => name === 'web').map((row) => ({ ...row, wanted: null }));
  const [shop] = desired.units.values();
  invariant(shop !== undefined, 'the files have this instance');
  const order = { recorded, after: new Map([['', shop]]), merge: { changes: [], retained: [] } };
  const { changes } = recordedChanges({ ...order, isSecret: () => false });
  expect(changes.find(({ resource }) => resource === 'web')).toBeUndefined();
});

it('planMerge quotes texts that look like its own words', () => {
  const text = '(known after create of ![x](http://example.com/x) @all\u001b[2J';
  const plan = planned({ [TEMPLATE]: template(`url: ${JSON.stringify(text)}`) }, { files: FILES });
  expect(markdownReport(plan)).toContain(' → `(known after create of ![x](http://example.com/x) @all\\u001b[2J`');
  expect(textPlan(plan)).not.toContain('\u001b');
});

it('planMerge names each server once, in configuration and changes', () => {
  const both = template(`url: "<<(Output)['db']['address']>>/<<(Output)['db']['mac']>>"`);
  const plan = planned({ [TEMPLATE]: both }, { files: FILES });
  expect(plan.changes).toMatchObject([{ properties: { url: UNKNOWN } }]);
  expect(plan.configuration).toMatchObject([{ key: 'url', to: UNKNOWN.to }]);
});
