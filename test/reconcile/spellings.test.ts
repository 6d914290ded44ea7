// A server whose name differs only in case from one that exists, on a site where both are one name.
import { describe, expect, it } from 'vitest';
import { answerOf } from './build.ts';
import { Core } from './core.ts';
import { shopFiles, TEMPLATE, templateText } from './shop.ts';

/** A shop with the server `web`, on a provider that takes no notice of case. */
async function up(instance = '', others: Readonly<Record<string, string>> = {}): Promise<Core> {
  const core = new Core();
  core.provider.script = async (call) => core.provider.act({ ...call, resource: call.resource.toLowerCase() });
  await core.follow(shopFiles({ web: 'name: web', ...others }, instance));
  expect(core.states()).toMatchObject({ web: 'done' });
  return core;
}

function changesOf(core: Core): string[] {
  const changes = core.provider.calls.filter(({ operation }) => operation !== 'check');
  return changes.map(({ operation, resource }) => `${operation} ${resource}`);
}

function problemsOf(core: Core): readonly string[] {
  return core.current.get()?.problems.map(({ message }) => message) ?? [];
}

describe('a name that differs only in case', () => {
  it.each([
    ['without another commit', false],
    ['with a restart of the controller', true],
  ])('from a server that is being deleted is admitted when that is gone, %s', async (_name, isRestarted) => {
    let core = await up('', { db: 'name: db' });
    const { script } = core.provider;
    core.provider.script = (call, signal) =>
      call.operation === 'delete' ? Promise.resolve(answerOf('retryable', { message: 'busy' })) : script(call, signal);
    await core.follow({ [TEMPLATE]: templateText({ db: 'name: db' }) });
    await core.follow({ [TEMPLATE]: templateText({ db: 'name: db', web: 'name: WEB' }) });
    expect(problemsOf(core)).toEqual(['the server name "WEB" differs only in case from that of the server "web"']);
    core.provider.script = script;
    await core.pass(600_000);
    if (isRestarted) core = await core.restart();
    await core.poll();
    await core.settle();
    expect(core.states()).toEqual({ WEB: 'done', db: 'done' });
    expect(changesOf(core).at(-1)).toBe('create WEB');
    expect(problemsOf(core)).toEqual([]);
  });
});
