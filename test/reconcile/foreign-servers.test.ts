// What a client of a tenant writes neither takes a server of another tenant, nor keeps it from being deleted.
import { expect, it } from 'vitest';
import type { JsonMap } from '../../src/model/json.ts';
import type { Client } from '../../src/model/objects.ts';
import type { Draft } from '../../src/service/write/draft.ts';
import { putInstanceDraft, putObjectDraft } from '../../src/service/write/drafts.ts';
import { judgeRequest } from '../../src/service/write/judge-writes.ts';
import { answerOf } from './build.ts';
import { Core } from './core.ts';
import { answering } from './shop.ts';

const BY: Client = {
  name: 'C1',
  type: 'client',
  description: '',
  role: 'administrator',
  fingerprint: '',
  serial: 'C1',
  tenant: 'ta',
};
const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'clients/A1.yaml': 'role: administrator\n',
  'clients/C1.yaml': 'role: administrator\ntenant: ta\n',
  'stacks/templates/t.yaml':
    'parameters: { name: "" }\nresources: { s: { type: Platform::Server, properties: { name: "<<name>>" } } }\n',
  'stacks/instances/own.yaml': 'tenant: ta\nstackTemplate: t\nparameters: { name: own-1 }\n',
  'stacks/instances/other.yaml': 'tenant: tb\nstackTemplate: t\nparameters: { name: other-1 }\n',
};

async function start(): Promise<Core> {
  return await await Core.following(FILES);
}

function write({ current, ledger }: Core, draft: Draft): void {
  const desired = current.get();
  if (desired === undefined) throw new Error('no commit is followed');
  const order = { by: BY, requestId: 'r', refusal: () => undefined, ifMatch: undefined, recorded: ledger };
  judgeRequest({ draft, order }, desired);
}

function instance(name: string, additions: JsonMap = {}): Draft {
  const properties = { resources: { s: { properties: additions } } };
  const body = { tenant: 'ta', stackTemplate: 't', parameters: { name }, stackTemplateAdditions: properties };
  return putInstanceDraft('new', body, { force: false });
}

const TAKEN = 'The name of the server "other-1" is taken; this client does not see by what';

it('a server whose delete fails is not adopted', async () => {
  const core = await start();
  answering(core, 'delete', () => Promise.resolve(answerOf('failed')));
  await core.follow({ 'stacks/instances/other.yaml': null });
  expect(core.states()).toEqual({ 'other-1': 'failed', 'own-1': 'done' });
  expect(() => write(core, instance('other-1'))).toThrow(TAKEN);
  expect(() => write(core, putObjectDraft('clientcert', { name: 'other-1', tenant: 'ta' }))).toThrow(TAKEN);
  expect(() => write(core, instance('new-1'))).not.toThrow();
});

it('an instance cannot depend on a server of another tenant', async () => {
  const core = await start();
  expect(() => write(core, instance('new-1', { depends_on: 'other-1' }))).toThrow(TAKEN);
  expect(() => write(core, instance('new-1', { depends_on: 'own-1' }))).not.toThrow();
});
