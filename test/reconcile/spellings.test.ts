// A server that is renamed so that the name differs in case only, on a site where both are one name.
import { describe, expect, it } from 'vitest';
import { answerOf } from './build.ts';
import { Core } from './core.ts';
import { SHOP, shopFiles, TEMPLATE, templateText } from './shop.ts';

const API = { api: 'name: api, depends_on: web' };

/** A shop with the server `web`, on a provider that takes no notice of case. */
async function up(instance = '', others: Readonly<Record<string, string>> = {}): Promise<Core> {
  const core = new Core();
  core.provider.script = async (call) => core.provider.act({ ...call, resource: call.resource.toLowerCase() });
  core.source.commit(shopFiles({ web: 'name: web', ...others }, instance));
  await core.poll();
  expect(core.states()).toMatchObject({ web: 'done' });
  return core;
}

async function rename(core: Core, others: Readonly<Record<string, string>> = {}): Promise<void> {
  core.source.commit({ [TEMPLATE]: templateText({ web: 'name: WEB', ...others }) });
  await core.poll();
}

function changesOf(core: Core): string[] {
  const changes = core.provider.calls.filter(({ operation }) => operation !== 'check');
  return changes.map(({ operation, resource }) => `${operation} ${resource}`);
}

describe('a name that changes in case only', () => {
  it.each([
    ['with adoption', 'adopt: true\n'],
    ['without', ''],
  ])('is one server that is deleted and built anew, %s', async (_case, instance) => {
    const core = await up(instance);
    await rename(core);
    expect(core.states()).toEqual({ WEB: 'done' });
    expect(changesOf(core)).toEqual(['create web', 'delete web', 'create WEB']);
    const [call] = core.provider.calls;
    expect(call && core.provider.act({ ...call, operation: 'check' }).outcome).toBe('done');
  });

  it('is not looked at before the old one is gone, however long that takes', async () => {
    const core = await up('adopt: true\n');
    const { script } = core.provider;
    core.provider.script = (call, signal) =>
      call.operation === 'delete' ? Promise.resolve(answerOf('retryable', { message: 'busy' })) : script(call, signal);
    await rename(core);
    await core.pass(60_000);
    expect(core.provider.calls.filter(({ resource }) => resource === 'WEB')).toEqual([]);
    core.provider.script = script;
    await core.pass(600_000);
    await core.pass(3_600_000);
    expect(core.states()).toEqual({ WEB: 'done' });
  });

  it('waits for nobody that waits for the new name', async () => {
    const core = await up('', API);
    await rename(core, { api: 'name: api, depends_on: web, size: large' });
    expect(core.states()).toEqual({ WEB: 'done', api: 'done' });
  });

  it('comes after what depends on the old one and goes too', async () => {
    const core = await up('', API);
    await rename(core);
    expect(changesOf(core).slice(2)).toEqual(['delete api', 'delete web', 'create WEB']);
  });

  it('that comes back after its removal does not wait for who needs the old name', async () => {
    const core = await up();
    core.source.commit({
      'stacks/templates/user.yaml': templateText(API),
      'stacks/instances/user.yaml': 'stackTemplate: user\n',
    });
    await core.poll();
    core.source.commit({ [SHOP]: null });
    await core.poll();
    expect(core.states()).toEqual({ web: 'marked for delete', api: 'done' });
    core.source.commit({ [SHOP]: 'stackTemplate: t\n', [TEMPLATE]: templateText({ web: 'name: WEB' }) });
    await core.poll();
    expect(core.states()).toEqual({ WEB: 'done', api: 'done' });
  });

  it('that is taken back keeps the server', async () => {
    const core = await up();
    await core.operator.suspend(core.order, { instance: 'shop', until: null });
    await rename(core);
    core.source.commit({ [TEMPLATE]: templateText({ web: 'name: web' }) });
    await core.poll();
    await core.operator.resume(core.order, 'shop');
    await core.settle();
    expect(core.states()).toEqual({ web: 'done' });
    expect(changesOf(core)).toEqual(['create web']);
  });
});
