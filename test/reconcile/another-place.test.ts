// Other settings at the next start: another URL, branch or directory than the one that was followed; or rows of elsewhere.
import { describe, expect, it } from 'vitest';
import { Core } from './core.ts';

const TEMPLATE = `parameters: { count: "1", size: small }
resources:
  s:
    type: Platform::ResourceGroup
    properties: { count: "<<count>>", resource_def: { properties: { size: "<<size>>" } } }
`;
const SHOP = 'stacks/instances/shop.yaml';

type Files = Readonly<Record<string, string>>;

function layout(count = 3, more = ''): Files {
  return {
    'tree.yaml': 'name: global\ntype: common\n',
    'clients/A1.yaml': 'role: administrator\n',
    'stacks/templates/t.yaml': TEMPLATE,
    'stacks/instances/other.yaml': 'stackTemplate: t\n',
    [SHOP]: `stackTemplate: t\nparameters: { count: "${count}" }\n${more}`,
  };
}

function below(folder: string, files: Files): Files {
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text]));
}

const PROTECTED = 'protected: true\n';
const DONE = ['done', 'done', 'done', 'done'];

/** All servers are done, at the first commit. */
async function up(files: Files, directory = '.'): Promise<{ readonly core: Core; readonly followed: string }> {
  const core = new Core();
  core.source.place = { ...core.source.place, directory };
  const followed = core.source.commit(files);
  await core.poll();
  expect(Object.values(core.states())).toEqual(DONE);
  return { core, followed };
}

/** Starts again with other settings. */
async function moved(core: Core, place: Partial<Core['source']['place']>): Promise<Core> {
  core.source.place = { ...core.source.place, ...place };
  return await core.restart();
}

function expectUntouched(core: Core): void {
  for (const operation of ['create', 'update', 'delete'] as const) expect(core.calls(operation)).toEqual([]);
  expect(Object.values(core.states())).toEqual(DONE);
}

describe('another directory', () => {
  const TWO = { ...below('prod', layout(3, PROTECTED)), ...below('test', layout(1)) };

  it('is held, and no server is deleted, also of a protected instance', async () => {
    const { core: before, followed } = await up(TWO, 'prod');
    const core = await moved(before, { directory: 'test' });
    for (let poll = 0; poll < 3; poll += 1) await core.poll();
    expectUntouched(core);
    const reason =
      'the settings have changed where the commits come from; repository.directory was "prod" and is "test"';
    const check = 'set repository.directory back in the settings';
    const effect = 'accepting it creates 0 servers, updates 0, retains 0 and, after another approval, deletes 2';
    const held = { digest: `history-${followed}`, reason: `${reason}; ${effect}`, check };
    expect(core.operator.held()).toMatchObject([{ kind: 'history', ...held }]);
    expect(core.operator.overview(core.order.by).newest).toMatchObject({
      reason,
      action: `${check}; if it is intended: treeline accept-history ${followed}`,
    });
    expect(core.follower.notReadyReason).toContain('was "prod" and is "test"');
  });

  it.each([0, 1])(
    'is followed after accept-history, and deletes no server of a protected instance; %i commits later',
    async (more) => {
      const { core: before, followed } = await up(TWO, 'prod');
      const core = await moved(before, { directory: 'test' });
      const newest = more === 0 ? followed : core.source.commit({ 'README.md': 'two layouts\n' });
      await core.poll();
      await core.operator.acceptHistory(core.order, newest);
      await core.settle();
      expect(core.operator.held()).toEqual([]);
      expect(core.operator.recovery(core.order.by)).toEqual({ recovery: null });
      expect(core.reader.status('shop')).toBe('Invalid');
      expect(core.operator.problems().problems).toMatchObject([{ code: 'protected_instance' }]);
      expectUntouched(core);
      const again = await core.restart();
      expect(again.operator.held()).toEqual([]);
      expect(again.reader.status('shop')).toBe('Invalid');
      expectUntouched(again);
    },
  );

  it('suspends everything, and holds deletes under way', async () => {
    const { core: before } = await up(below('prod', layout()), 'prod');
    before.provider.script = ({ operation }) => (operation === 'delete' ? new Promise(() => undefined) : undefined);
    before.source.commit(below('prod', layout(2)));
    await before.poll();
    const core = await moved(before, { directory: 'test' });
    await core.poll();
    expect(core.operator.recovery(core.order.by).recovery).toMatchObject({ cause: 'repository' });
    expect(core.held('shop')).toMatchObject({ kind: 'deletes', resources: ['shop-s-3'] });
    expect(core.calls('delete')).toEqual([]);
  });
});

describe('another URL or branch', () => {
  it('is held if it lacks the followed commit', async () => {
    const { core: before, followed } = await up(layout());
    const strange = before.source.commit(layout(1), { parents: [] });
    const core = await moved(before, { url: '/srv/other.git' });
    expect(core.held(null)).toMatchObject({
      digest: `history-${strange}`,
      reason:
        `the history was rewritten: ${strange} does not come after the followed commit ${followed}; ` +
        'repository.url was "/srv/stacks.git" and is "/srv/other.git"; ' +
        'accepting it creates 0 servers, updates 0, retains 0 and, after another approval, deletes 2',
    });
    expect(core.operator.overview(core.order.by).newest?.action).toBe(
      `set repository.url back in the settings; if it is intended: treeline accept-history ${strange}`,
    );
    expectUntouched(core);
  });
});
