// Tests refusals of writes that need more than one commit or client, and that a mistake of the parent commit is no refusal.
// test/texts/answers.txt has the others.
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
} from '../../../src/service/write/drafts.ts';
import { judgeRequest } from '../../../src/service/write/judge-writes.ts';
import { snapshotOf } from '../../catalog/snapshots.ts';
import { allowed } from '../../support/allowed.ts';
import { DraftedRepository } from '../../support/drafted-repository.ts';
import type { TextChanges } from '../../support/text-repository.ts';
import { ADMINISTRATOR as ADMINISTRATOR_CLIENT } from '../service.ts';
import { FILES, put, remove } from './stacks.ts';

function open(changes: TextChanges = {}): DraftedRepository {
  return new DraftedRepository({ ...FILES, ...changes });
}

it('an object that only an earlier active version uses counts as in use', () => {
  const repository = open();
  repository.commit({ 'stacks/instances/orders.yaml': 'stackTemplate: nothing\n' });
  expect(repository.refused(() => deleteObjectDraft('role', 'db'))).toMatchObject({ code: 'conflict' });
  expect(repository.refused(() => deleteObjectDraft('zone', 'inside'))).toMatchObject({ code: 'conflict' });
});

describe('a write of an administrator', () => {
  const by = ADMINISTRATOR_CLIENT;
  const OTHER = { 'clients/C3.yaml': 'role: administrator\n' };
  const WORDS = 'ask another administrator to do it, so that one who can still connect remains';

  it.each<[string, () => Draft, string]>([
    ['removed', () => deleteClientDraft('a1', by), 'remove its own record'],
    ['another role', () => putClientDraft({ serial: 'a1', role: 'proxy' }, by), 'take away its own role'],
  ])('that would make it %s itself is refused although another administrator is registered', (_what, draft, what) => {
    expect(open(OTHER).refused(draft)).toMatchObject({
      code: 'conflict',
      message: `An administrator cannot ${what}: ${WORDS}`,
    });
  });

  it.each([{ tenant: 'shop' }, { writes: 'none' }])('cannot limit itself: %j', (less) => {
    const { code, message } = open(OTHER).refused(() => putClientDraft({ serial: 'a1', ...less }, by));
    expect({ code, message }).toMatchObject({ code: 'conflict', message: expect.stringContaining('limit itself') });
  });
});

describe('a removal of an absent object', () => {
  const REMOVALS = [
    ['shpo', 'There is no stack instance "shpo"; did you mean "shop"?', remove('shpo')],
    ['lab-bd', 'There is no clientcert "lab-bd"; did you mean "lab-db"?', deleteObjectDraft('clientcert', 'lab-bd')],
    ['wbe', 'There is no stack template "wbe"; did you mean "web"?', deleteObjectDraft('stack-template', 'wbe')],
  ] as const;

  it.each(REMOVALS)('suggests the nearest name: %s', (_name, message, draft) => {
    const order = { ...allowed(ADMINISTRATOR_CLIENT), requestId: 'r', ifMatch: undefined };
    expect(() => judgeRequest({ draft, order }, open().desired)).toThrow(message);
  });

  it.each(REMOVALS)('suggests nothing to a limited client: %s', (_name, message, draft) => {
    const by = { ...ADMINISTRATOR_CLIENT, tenant: 'shop-team' };
    const order = { ...allowed(by), requestId: 'r', ifMatch: undefined };
    expect(() => judgeRequest({ draft, order }, open().desired)).toThrow(
      expect.objectContaining({ message: message.split(';')[0] }),
    );
  });
});

it('a write with a plain secret is refused without quoting it, even if nothing selects the object', () => {
  const repository = open({ 'hierarchy.yaml': 'secrets: { keys: [password], reference: "^secret/" }\n' });
  const refused = repository.refused(() => putObjectDraft('zone', { name: 'unused', db_password: 'hunter2' }));
  expect(refused).toMatchObject({ code: 'invalid_input', details: [{ pointer: '/db_password' }] });
  expect(JSON.stringify([refused.message, refused.details])).not.toContain('hunter2');
});

it('a write that removes servers of a protected instance is refused, even if it lifts the protection', () => {
  const text = 'stackTemplate: web\nparameters: { zone: inside, count: "2" }\nprotected: true\n';
  const fewer = { stackTemplate: 'web', parameters: { zone: 'inside', count: '1' }, protected: true };
  for (const wanted of [fewer, { ...fewer, protected: false }]) {
    expect(open({ 'stacks/instances/orders.yaml': text }).refused(() => put('orders', wanted))).toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/^the instance "orders" is protected, and this would delete orders-web-2; /),
    });
  }
});

it('a removal of the last instance is refused', () => {
  const repository = open({ 'stacks/instances/orders.yaml': null });
  expect(repository.refused(() => remove('shop'))).toMatchObject({
    code: 'conflict',
    message: expect.stringMatching(
      /^This is the last stack instance\. A commit that .* make it with git, and let "treeline approve"/,
    ),
  });
});

describe('a mistake that existed before a write', () => {
  const broken = {
    'stacks/instances/wrong.yaml': 'stackTemplate: nothing\n',
    'stacks/instances/a/twin.yaml': 'stackTemplate: web\n',
    'stacks/instances/b/twin.yaml': 'stackTemplate: web\n',
    'types/role/odd.yaml': 'ports: { http: 80 }\n',
    'clients/zz.yaml': 'role: proxy\n',
  };

  it('does not block other writes', () => {
    const repository = open(broken);
    expect(repository.write(putObjectDraft('shape', { name: 'small', cpus: 3 }))).toEqual({
      'types/shape/small.yaml': 'cpus: 3\n',
    });
  });

  it('may stay in a changed file, even on another line', () => {
    const repository = open(broken);
    expect(repository.write(put('wrong', { description: 'Later', stackTemplate: 'nothing' }))).toEqual({
      'stacks/instances/wrong.yaml': 'stackTemplate: nothing\ndescription: Later\n',
    });
  });

  it('is distinguished from mistakes that the write adds', () => {
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
  ])('may be an unreadable file: %s', (_name, parts, text = 'port: 80\n') => {
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
