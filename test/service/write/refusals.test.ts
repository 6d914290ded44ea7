// Tests the refusals of writes, with code and message, and that a mistake of the parent commit is no refusal.
import { describe, expect, it } from 'vitest';
import { invariant } from '../../../src/base/invariant.ts';
import { derive } from '../../../src/derive.ts';
import { desiredAfter } from '../../../src/service/write/check-edits.ts';
import type { Draft } from '../../../src/service/write/draft.ts';
import {
  deleteClientDraft,
  deleteObjectDraft,
  putClientDraft,
  putObjectDraft,
  putTreeDraft,
} from '../../../src/service/write/drafts.ts';
import { judgeRequest } from '../../../src/service/write/judge-writes.ts';
import { snapshotOf } from '../../catalog/snapshots.ts';
import { allowed } from '../../support/allowed.ts';
import { DraftedRepository } from '../../support/drafted-repository.ts';
import type { TextChanges } from '../../support/text-repository.ts';
import { ADMINISTRATOR as ADMINISTRATOR_CLIENT } from '../service.ts';
import { FILES, put, type RefusedRow, remove } from './stacks.ts';

function open(changes: TextChanges = {}): DraftedRepository {
  return new DraftedRepository({ ...FILES, ...changes });
}

/** The object is right by itself. */
const BREAKING: readonly RefusedRow[] = [
  [
    'a template that needs more than its instances give',
    () =>
      putObjectDraft('stack-template', { name: 'web', parameters: { zone: '', count: '1', port: '' }, resources: {} }),
    'breaks_others',
    expect.stringMatching(/^This would break the stack instances orders, shop: /),
  ],
  [
    'a tree without a place that is in use',
    () => putTreeDraft({ name: 'global', type: 'common', children: [{ name: 'production', type: 'environment' }] }),
    'breaks_others',
    expect.stringMatching(/^This would break the stack instances orders, shop, and types\/clientcert\/lab-db\.yaml: /),
  ],
];

const IN_USE: readonly RefusedRow[] = [
  [
    'a template',
    () => deleteObjectDraft('stack-template', 'web'),
    'conflict',
    'stack-template/web is still in use by the stack instances orders, shop',
    [
      {
        file: 'stacks/instances/eu/shop.yaml',
        message: 'it is used here [shop]',
      },
      {
        file: 'stacks/instances/orders.yaml',
        message: 'it is used here [orders]',
      },
    ],
  ],
  [
    'an object that an instance names, and a clientcert',
    () => deleteObjectDraft('role', 'db'),
    'conflict',
    'role/db is still in use by the stack instance orders, and types/clientcert/lab-db.yaml',
    [{ file: 'stacks/instances/orders.yaml' }, { file: 'types/clientcert/lab-db.yaml' }],
  ],
  [
    'a place that servers are in, although the tree has it',
    () => deleteObjectDraft('zone', 'inside'),
    'conflict',
    'zone/inside is still in use by the stack instance orders',
    [{ file: 'stacks/instances/orders.yaml', line: 1, column: 1, pointer: '', message: 'it is used here' }],
  ],
  [
    'the base of every record',
    () => deleteObjectDraft('common', 'global'),
    'conflict',
    'common/global is still in use by tree.yaml',
    [],
  ],
  [
    'a clientcert that a stack makes',
    () => deleteObjectDraft('clientcert', 'shop-web-1'),
    'conflict',
    'The clientcert "shop-web-1" is made by the stack instance "shop"',
    [],
  ],
  [
    'the last administrator',
    () => deleteClientDraft('a1'),
    'conflict',
    'no administrator would be left; the client A1 stays one; register another administrator first',
    [{ file: 'clients/A1.yaml' }],
  ],
];

describe.each<[string, readonly RefusedRow[]]>([
  ['breaking others', BREAKING],
  ['what is in use', IN_USE],
])('%s', (_name, rows) => {
  it.each(rows.map((row) => ({ what: row[0], row })))('$what', ({ row: [, draft, code, message, details] }) => {
    const refused = open().refused(draft);
    expect(refused).toMatchObject({ code, message });
    if (details !== undefined) expect(refused.details).toMatchObject(details);
  });
});

it('what only an older version in force uses is in use', () => {
  const repository = open();
  repository.commit({ 'stacks/instances/orders.yaml': 'stackTemplate: nothing\n' });
  expect(repository.refused(() => deleteObjectDraft('role', 'db'))).toMatchObject({ code: 'conflict' });
  expect(repository.refused(() => deleteObjectDraft('zone', 'inside'))).toMatchObject({ code: 'conflict' });
});

describe('details', () => {
  it('say where, and which instances it stops', () => {
    expect(open().refused(() => deleteObjectDraft('shape', 'small')).details).toEqual([
      {
        file: 'stacks/templates/web.yaml',
        line: 11,
        column: 73,
        pointer: '/resources/web/properties/resource_def/properties/shape',
        message: 'it is used here [orders, shop]',
      },
    ]);
  });
});

describe('an administrator', () => {
  const by = ADMINISTRATOR_CLIENT;
  const OTHER = { 'clients/C3.yaml': 'role: administrator\n' };
  const WORDS = 'let another one do it, which shows that one can still come in';

  it.each<[string, () => Draft, string]>([
    ['removed', () => deleteClientDraft('a1', by), 'remove its own record'],
    ['another role', () => putClientDraft({ serial: 'a1', role: 'proxy' }, by), 'take away its own role'],
  ])('cannot be %s at its own word, though another one is registered', (_what, draft, what) => {
    expect(open(OTHER).refused(draft)).toMatchObject({
      code: 'conflict',
      message: `An administrator cannot ${what}: ${WORDS}`,
    });
  });

  it.each([{ tenant: 'shop' }, { writes: 'none' }])('does not limit itself: %j', (less) => {
    const { code, message } = open(OTHER).refused(() => putClientDraft({ serial: 'a1', ...less }, by));
    expect({ code, message }).toMatchObject({ code: 'conflict', message: expect.stringContaining('limit itself') });
  });
});

describe('a removal of what is not there', () => {
  const REMOVALS = [
    ['shpo', 'There is no stack instance "shpo"; did you mean "shop"?', remove('shpo')],
    ['lab-bd', 'There is no clientcert "lab-bd"; did you mean "lab-db"?', deleteObjectDraft('clientcert', 'lab-bd')],
    ['wbe', 'There is no stack template "wbe"; did you mean "web"?', deleteObjectDraft('stack-template', 'wbe')],
  ] as const;

  it.each(REMOVALS)('suggests the name that was perhaps meant: %s', (_name, message, draft) => {
    const order = { ...allowed(ADMINISTRATOR_CLIENT), requestId: 'r', ifMatch: undefined };
    expect(() => judgeRequest({ draft, order }, open().desired)).toThrow(message);
  });

  it.each(REMOVALS)('suggests nothing to a client that sees only a part: %s', (_name, message, draft) => {
    const by = { ...ADMINISTRATOR_CLIENT, tenant: 'shop-team' };
    const order = { ...allowed(by), requestId: 'r', ifMatch: undefined };
    expect(() => judgeRequest({ draft, order }, open().desired)).toThrow(
      expect.objectContaining({ message: message.split(';')[0] }),
    );
  });
});

describe('a mistake in the body', () => {
  it('of a new object is said of the body, and without a place in a file that never existed', () => {
    const { code, message, details } = open().refused(() => put('blog', { parameters: {} }));
    expect({ code, message }).toEqual({
      code: 'invalid_input',
      message: 'the body lacks the field "stackTemplate"; add "stackTemplate:"',
    });
    expect(details).toEqual([
      { pointer: '', message: 'the body lacks the field "stackTemplate"; add "stackTemplate:" [blog]' },
    ]);
  });

  it('that is a plain secret is refused although nothing selects the object, and not quoted', () => {
    const repository = open({ 'hierarchy.yaml': 'secrets: { keys: [password], reference: "^secret/" }\n' });
    const refused = repository.refused(() => putObjectDraft('zone', { name: 'unused', db_password: 'hunter2' }));
    expect(refused).toMatchObject({ code: 'invalid_input', details: [{ pointer: '/db_password' }] });
    expect(JSON.stringify([refused.message, refused.details])).not.toContain('hunter2');
  });
});

describe('protection', () => {
  const guarded = {
    'stacks/instances/orders.yaml': 'stackTemplate: web\nparameters: { zone: inside, count: "2" }\nprotected: true\n',
  };
  const body = { stackTemplate: 'web', parameters: { zone: 'inside', count: '2' }, protected: true };

  it('keeps an instance from being removed', () => {
    expect(open(guarded).refused(() => remove('orders'))).toEqual({
      code: 'conflict',
      message: 'The stack instance "orders" is protected; set protected: false in a commit of its own first',
      details: [],
    });
  });

  it('keeps its servers, and is not lifted by the write that takes them away', () => {
    const fewer = { ...body, parameters: { zone: 'inside', count: '1' } };
    for (const wanted of [fewer, { ...fewer, protected: false }]) {
      expect(open(guarded).refused(() => put('orders', wanted))).toMatchObject({
        code: 'conflict',
        message: expect.stringMatching(/^the instance "orders" is protected, and this would delete orders-web-2; /),
      });
    }
  });
});

describe('the last one', () => {
  it('of the instances is not taken away by a request', () => {
    const repository = open({ 'stacks/instances/orders.yaml': null });
    expect(repository.refused(() => remove('shop'))).toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(
        /^This is the last stack instance, and .* make it with git, and let "treeline approve"/,
      ),
    });
  });

  it('of the clients is not, either', () => {
    const repository = open({ 'clients/B2.yaml': null });
    expect(repository.refused(() => deleteClientDraft('A1'))).toMatchObject({
      code: 'conflict',
      message: 'No client would be left, and so no administrator; register another one first',
    });
  });
});

describe('what was wrong before', () => {
  const broken = {
    'stacks/instances/wrong.yaml': 'stackTemplate: nothing\n',
    'stacks/instances/a/twin.yaml': 'stackTemplate: web\n',
    'stacks/instances/b/twin.yaml': 'stackTemplate: web\n',
    'types/role/odd.yaml': 'ports: { http: 80 }\n',
    'clients/zz.yaml': 'role: proxy\n',
  };

  it('stops nobody else', () => {
    const repository = open(broken);
    expect(repository.write(putObjectDraft('shape', { name: 'small', cpus: 3 }))).toEqual({
      'types/shape/small.yaml': 'cpus: 3\n',
    });
  });

  it('may stay wrong in a file that is changed, even on another line', () => {
    const repository = open(broken);
    expect(repository.write(put('wrong', { description: 'Later', stackTemplate: 'nothing' }))).toEqual({
      'stacks/instances/wrong.yaml': 'stackTemplate: nothing\ndescription: Later\n',
    });
  });

  it('is told apart from what the write adds', () => {
    const { code, details } = open(broken).refused(() =>
      putObjectDraft('role', { name: 'odd', ports: { https: 443 }, more: {} }),
    );
    expect({ code, details }).toEqual({
      code: 'invalid_input',
      details: [expect.objectContaining({ file: 'types/role/odd.yaml', pointer: '/more' })],
    });
  });

  it.each<[string, Parameters<typeof snapshotOf>[1], string | undefined]>([
    ['a symbolic link', { modes: { 'types/role/web.yaml': '120000' } }, undefined],
    ['a submodule', { modes: { 'types/role/web.yaml': '160000' } }, undefined],
    ['a file that is too large', { wants: (path) => path !== 'types/role/web.yaml' }, undefined],
    ['a file that is too large, and was read', {}, `# ${'x'.repeat(1024 * 1024)}\n`],
  ])('may be a file that cannot be read: %s', (_name, parts, text = 'port: 80\n') => {
    const derivation = derive(snapshotOf({ ...FILES, 'types/role/web.yaml': text }, parts));
    invariant(derivation.isFollowed, 'the commit is followed');
    const { desired } = derivation;
    const draft = putObjectDraft('shape', { name: 'small', cpus: 3 });
    expect(
      desiredAfter(desired, draft.edits(desired), draft).desired.catalog.files.get('types/shape/small.yaml')?.text,
    ).toBe('cpus: 3\n');
    expect(() => putObjectDraft('role', { name: 'web', cpus: 2 }).edits(desired)).toThrow(
      /^types\/role\/web\.yaml cannot be changed without reformatting it: /,
    );
  });
});
