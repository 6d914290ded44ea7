import { describe, expect, it } from 'vitest';
import { withoutPause } from '../../src/base/breathe.ts';
import type { DesiredState } from '../../src/desired/desired-state.ts';
import { syncChanges } from '../../src/follow/sync.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import { Ledger } from '../../src/reconcile/ledger.ts';
import { NOW } from '../reconcile/build.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { PLACE } from '../support/rows.ts';
import { TextRepository } from '../support/text-repository.ts';

const BASE = {
  'tree.yaml': 'name: global\ntype: common\n',
  'stacks/templates/web.yaml': `parameters: { count: "2", size: small }
resources:
  web:
    type: Platform::ResourceGroup
    properties: { count: "<<count>>", resource_def: { properties: { name: "web-<<index>>", size: "<<size>>" } } }
`,
  'stacks/instances/shop.yaml': 'stackTemplate: web\n',
  'types/clientcert/printer.yaml': 'paper: a4\n',
};
const SHOP = 'stacks/instances/shop.yaml';
const PRINTER = 'types/clientcert/printer.yaml';

/** Takes desired states into a store, one after the other, as the follower does. */
class Books {
  readonly store = new Ledger(new MemoryStore(), withoutPause);
  #before: DesiredState | undefined;

  /** Takes one, and returns what changed, as `<kind> <name>`; a removed row begins with `-`. */
  async take(desired: DesiredState, { isRestart = false } = {}): Promise<string[]> {
    const before = isRestart ? undefined : this.#before;
    const sync = { desired, place: PLACE, before, now: NOW, breathe: withoutPause };
    const changes = await syncChanges(this.store, sync);
    await this.store.commit(changes);
    this.#before = desired;
    return changes.map(({ kind, name, value }) => `${value === null ? '-' : ''}${kind} ${name}`).sort();
  }

  server(name: string): ServerRow | undefined {
    return this.store.read('server', name);
  }

  /** Pretends that a server was made as it is wanted. */
  async made(name: string): Promise<void> {
    const expected = this.server(name);
    if (expected === undefined) throw new Error(`there is no row of ${name}`);
    const value: ServerRow = { ...expected, state: 'done', checked: true, applied: expected.wanted, provider: 'lab' };
    await this.store.commit([{ kind: 'server', name, value, expected }]);
  }
}

async function open() {
  const repository = new TextRepository();
  const books = new Books();
  const first = await books.take(repository.commit(BASE));
  return { repository, books, first };
}

describe('the rows after a commit', () => {
  it('first contain the head, all servers, instances and hand-written clientcerts', async () => {
    const { books, first } = await open();
    expect(first).toEqual(['head head', 'node printer', 'server web-1', 'server web-2']);
    expect(books.store.read('head', 'head')).toEqual({
      commit: 'commit 1',
      time: '2026-11-20T10:01:00Z',
      place: PLACE,
    });
    expect(books.store.read('node', 'printer')?.updated).toBe('2026-11-20T10:01:00Z');
    expect(books.server('web-1')).toMatchObject({
      instance: 'shop',
      key: 'web',
      index: '1',
      state: 'pending',
      updated: '2026-11-20T10:01:00Z',
    });
  });

  it('change only in the head and the file if the commit has no effect', async () => {
    const { repository, books } = await open();
    expect(await books.take(repository.commit({ 'README.md': 'hello' }))).toEqual(['head head']);
    expect(await books.take(repository.commit({ [SHOP]: '# a comment\nstackTemplate: web\n' }))).toEqual(['head head']);
  });

  it('change in what the commit changes', async () => {
    const { repository, books } = await open();
    const grown = repository.commit({ [SHOP]: 'stackTemplate: web\nparameters: { count: "3" }\n' });
    expect(await books.take(grown)).toEqual(['head head', 'server web-3']);
    expect(books.server('web-3')?.updated).toBe('2026-11-20T10:02:00Z');
    const resized = repository.commit({ [SHOP]: 'stackTemplate: web\nparameters: { size: large }\n' });
    expect(await books.take(resized)).toEqual(['head head', 'server web-1', 'server web-2', 'server web-3']);
    expect(books.server('web-1')).toMatchObject({ updated: '2026-11-20T10:03:00Z', generation: 2 });
    expect(books.server('web-3')).toMatchObject({ wanted: null, lastRecord: { name: { value: 'web-3' } } });
  });

  it('keep the time of a hand-written clientcert until its file changes', async () => {
    const { repository, books } = await open();
    await books.take(repository.commit({ 'README.md': 'hello' }));
    expect(books.store.read('node', 'printer')?.updated).toBe('2026-11-20T10:01:00Z');
    expect(await books.take(repository.commit({ [PRINTER]: 'paper: a5\n' }))).toEqual(['head head', 'node printer']);
    expect(books.store.read('node', 'printer')?.updated).toBe('2026-11-20T10:03:00Z');
    expect(await books.take(repository.commit({ [PRINTER]: null }))).toEqual(['-node printer', 'head head']);
  });

  it('mark servers as unwanted that disappeared before a restart', async () => {
    const { repository, books } = await open();
    const shrunk = repository.commit({ [SHOP]: 'stackTemplate: web\nparameters: { count: "1" }\n' });
    expect(await books.take(shrunk, { isRestart: true })).toEqual(['head head', 'server web-2']);
    expect(books.server('web-2')?.wanted).toBeNull();
  });

  it('move with a server that is handed over', async () => {
    const { repository, books } = await open();
    await books.made('web-1');
    const before = books.server('web-1');
    const handed = repository.commit({ [SHOP]: null, 'stacks/instances/other.yaml': 'stackTemplate: web\n' });
    expect(await books.take(handed)).toEqual(['head head', 'server web-1', 'server web-2']);
    expect(books.server('web-1')).toEqual({ ...before, instance: 'other' });
  });

  it('keep the last record of an unwanted server', async () => {
    const { repository, books } = await open();
    await books.made('web-2');
    await books.take(repository.commit({ [SHOP]: 'stackTemplate: web\nparameters: { count: "1" }\n' }));
    const lastRecord = books.server('web-2')?.lastRecord;
    expect(lastRecord).toMatchObject({ last_stack_update: { value: '2026-11-20T10:01:00Z' } });
    await books.take(repository.commit({ 'README.md': 'hello' }));
    await books.take(repository.commit({ 'README.md': 'again' }), { isRestart: true });
    expect(books.server('web-2')?.lastRecord).toBe(lastRecord);
    await books.take(repository.commit({ [SHOP]: 'stackTemplate: web\n' }));
    expect(books.server('web-2')?.lastRecord).toBeNull();
  });
});

describe('a pinned object', () => {
  const WRONG = 'stackTemplate: web\nparameters: { cuont: "3" }\n';

  it('is recorded with its active commit until it is corrected', async () => {
    const { repository, books } = await open();
    expect(await books.take(repository.commit({ [SHOP]: WRONG }))).toEqual(['head head', 'pinned stack-instance/shop']);
    const pinned = books.store.read('pinned', 'stack-instance/shop');
    expect(pinned).toMatchObject({ commit: 'commit 1', path: SHOP, object: { stackTemplate: 'web', parameters: {} } });
    expect(await books.take(repository.commit({ 'README.md': 'hello' }))).toEqual(['head head']);
    const corrected = repository.commit({ [SHOP]: 'stackTemplate: web\n' });
    expect(await books.take(corrected)).toEqual(['-pinned stack-instance/shop', 'head head']);
  });

  it('has no commit if it is new, and no row if it is a hand-written clientcert', async () => {
    const { repository, books } = await open();
    const files = { 'stacks/instances/new.yaml': WRONG, 'types/clientcert/new.yaml': 'role: nobody\n' };
    expect(await books.take(repository.commit(files))).toEqual(['head head', 'pinned stack-instance/new']);
    expect(books.store.read('pinned', 'stack-instance/new')).toMatchObject({ commit: null });
  });

  it('may be a template, a typed object or a hand-written clientcert', async () => {
    const { repository, books } = await open();
    await books.take(repository.commit({ 'types/role/web.yaml': 'port: 80\n' }));
    const wrong = { 'stacks/templates/web.yaml': 'a: b: c\n', 'types/role/web.yaml': '', [PRINTER]: 'role: nobody\n' };
    expect(await books.take(repository.commit(wrong))).toEqual([
      'head head',
      'pinned clientcert/printer',
      'pinned role/web',
      'pinned stack-instance/shop',
      'pinned stack-template/web',
    ]);
    expect(books.store.read('pinned', 'role/web')).toMatchObject({ commit: 'commit 2', object: { port: 80 } });
    expect(books.store.read('pinned', 'clientcert/printer')).toMatchObject({ commit: 'commit 1' });
  });

  it('may be the last administrator', async () => {
    const { repository, books } = await open();
    const serial = 'A110C0DE';
    await books.take(repository.commit({ [`clients/${serial}.yaml`]: 'role: administrator\n' }));
    await books.take(repository.commit({ [`clients/${serial}.yaml`]: 'role: proxy\n' }));
    expect(books.store.read('pinned', `client/${serial}`)).toMatchObject({
      commit: 'commit 2',
      object: { role: 'administrator' },
    });
  });
});

describe('a terminating instance', () => {
  const OTHER = {
    'stacks/instances/other.yaml': 'stackTemplate: web\nstackTemplateSubstractions: { resources: { web: {} } }\n',
  };

  it('is unwanted and has servers, and keeps its last document', async () => {
    const { repository, books } = await open();
    await books.take(repository.commit(OTHER));
    await books.made('web-1');
    expect(await books.take(repository.commit({ [SHOP]: null }))).toEqual([
      'head head',
      'server web-1',
      'server web-2',
      'terminating shop',
    ]);
    expect(books.store.read('terminating', 'shop')).toMatchObject({ path: SHOP, object: { stackTemplate: 'web' } });
    expect(await books.take(repository.commit({ 'README.md': 'hello' }))).toEqual(['head head']);
    expect(await books.take(repository.commit({ 'README.md': 'again' }), { isRestart: true })).toEqual(['head head']);
    const back = repository.commit({ [SHOP]: 'stackTemplate: web\n' });
    expect(await books.take(back)).toEqual(['-terminating shop', 'head head', 'server web-1', 'server web-2']);
  });

  it('ends when its last server is gone', async () => {
    const { repository, books } = await open();
    await books.take(repository.commit(OTHER));
    const desired = repository.commit({ [SHOP]: null });
    await books.take(desired);
    for (const name of ['web-1', 'web-2']) {
      await books.store.commit([{ kind: 'server', name, value: null, expected: books.server(name) }]);
    }
    expect(await books.take(desired, { isRestart: true })).toEqual(['-terminating shop']);
  });
});
