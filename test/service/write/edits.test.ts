// Tests the edits of a write: the file, the lines, and that an unchanged body edits nothing.

import { describe, expect, it } from 'vitest';
import { withoutPause } from '../../../src/base/breathe.ts';
import { isMap, type JsonMap } from '../../../src/model/json.ts';
import { Ledger } from '../../../src/reconcile/ledger.ts';
import { createReader } from '../../../src/service/read/reader.ts';
import type { Draft } from '../../../src/service/write/draft.ts';
import {
  deleteClientDraft,
  deleteInstanceDraft,
  deleteObjectDraft,
  putClientDraft,
  putObjectDraft,
  putTreeDraft,
  writableType,
} from '../../../src/service/write/drafts.ts';
import { DraftedRepository } from '../../support/drafted-repository.ts';
import { MemoryStore } from '../../support/memory-store.ts';
import type { TextChanges } from '../../support/text-repository.ts';
import { ADMINISTRATOR, FILES, FINGERPRINT, put, SHOP } from './stacks.ts';

const SHOP_FILE = 'stacks/instances/eu/shop.yaml';

function open(changes: TextChanges = {}): DraftedRepository {
  return new DraftedRepository({ ...FILES, ...changes });
}

/** A body as it comes over the wire. */
function sent(value: unknown): JsonMap {
  const body: unknown = JSON.parse(JSON.stringify(value));
  if (isMap(body)) return body;
  throw new Error('this is no body');
}

describe('writing back a read object', () => {
  const repository = open();
  const reader = createReader({
    desired: () => repository.desired,
    desiredVersion: () => 0,
    refused: () => undefined,
    notReadyReason: () => '',
    rows: new Ledger(new MemoryStore(), withoutPause),
    stallsOf: () => undefined,
    now: () => 0,
  });
  const by = reader.registered(ADMINISTRATOR);
  if (by === undefined) throw new Error('nobody is registered');
  const objects = reader
    .types()
    .filter((type) => type !== 'all' && type !== 'stack-instance')
    .flatMap((type) => [...reader.objects(type)].map((body) => [type, String(body.name), body] as const));
  const drafts: readonly (readonly [string, Draft])[] = [
    ...reader.instances().map((body) => [`the instance ${body.name}`, put(body.name, sent(body))] as const),
    ...objects.map(
      ([type, name, body]) => [`${type} ${name}`, putObjectDraft(writableType(type), sent(body))] as const,
    ),
    ...reader.clients(undefined).map((body) => [`the client ${body.name}`, putClientDraft(sent(body))] as const),
    ['the tree', putTreeDraft(sent(reader.tree().body))],
  ];

  it('covers every type', () => {
    expect(drafts.map(([name]) => name)).toEqual([
      'the instance orders',
      'the instance shop',
      'zone dmz',
      'zone inside',
      'environment production',
      'stack-template web',
      'shape small',
      'shape spare',
      'role db',
      'clientcert lab-db',
      'common global',
      'the client A1',
      'the client B2',
      'the tree',
    ]);
  });

  it.each(drafts)('changes nothing: %s', (_name, draft) => {
    expect(repository.write(draft)).toEqual({});
  });
});

describe('an edit of a file full of comments', () => {
  const body = {
    description: 'The shop',
    stackTemplate: 'web',
    parameters: { count: '2', zone: 'dmz' },
    tenant: 'shop-team',
  };

  it.each<[string, JsonMap, string[]]>([
    ['another value', { ...body, parameters: { ...body.parameters, count: '3' } }, ['-  count: "2"', '+  count: "3"']],
    ['a field more', { ...body, drift: 'heal' }, ['+drift: heal']],
    [
      'a field less',
      { ...body, description: '' },
      ["-description: 'The shop'   # for people", "+description: '' # for people"],
    ],
    [
      'a field left out',
      { stackTemplate: 'web', parameters: body.parameters, tenant: 'shop-team' },
      ["-description: 'The shop'   # for people"],
    ],
    [
      'additions',
      { ...body, stackTemplateAdditions: { description: 'More' } },
      ['+stackTemplateAdditions:', '+  description: More'],
    ],
    [
      'another order',
      { tenant: 'shop-team', parameters: { zone: 'dmz', count: '2' }, stackTemplate: 'web', description: 'The shop' },
      [],
    ],
  ])('changes only the affected lines: %s', (_name, wanted, lines) => {
    const repository = open();
    const { [SHOP_FILE]: after = SHOP, ...others } = repository.write(put('shop', wanted));
    expect(others).toEqual({});
    expect(changedLines(SHOP, after ?? '')).toEqual(lines);
  });

  it.each([
    ['comments alone', '# to be done\n'],
    ['a list', '- cpus\n'],
    ['a syntax error', 'cpus: "2\n'],
  ])('is refused if it would lose text: %s', (_name, text) => {
    const repository = open({ 'types/shape/odd.yaml': text });
    const { code, message } = repository.refused(() => putObjectDraft('shape', { name: 'odd', cpus: 3 }));
    expect({ code, message }).toEqual({
      code: 'edit_by_hand',
      message: expect.stringMatching(/^types\/shape\/odd\.yaml cannot be changed without reformatting it: /),
    });
  });
});

describe('a new object file', () => {
  it.each<[string, Draft, string, string]>([
    [
      'an instance',
      put('blog', {
        name: 'blog',
        type: 'stack-instance',
        description: '',
        stackTemplate: 'web',
        stackTemplateAdditions: {},
        stackTemplateSubstractions: {},
        parameters: { zone: 'dmz', count: '0123' },
        resources: { web: { 'blog-web-1': { state: 'done' } } },
        force: true,
        protected: false,
      }),
      'stacks/instances/blog.yaml',
      '# yaml-language-server: $schema=../../schemas/stack-instance.schema.json\n' +
        'stackTemplate: web\nparameters:\n  zone: dmz\n  count: "0123"\nprotected: false\n',
    ],
    [
      'a template',
      putObjectDraft('stack-template', { name: 'none', type: 'stack-template', parameters: {}, resources: {} }),
      'stacks/templates/none.yaml',
      '# yaml-language-server: $schema=../../schemas/stack-template.schema.json\n{}\n',
    ],
    [
      'a typed object, whose empty text is a value',
      putObjectDraft('role', {
        name: 'web',
        description: '',
        banner: '',
        version: '1.10',
        yes: 'no',
        big: '1e3',
        port: 80,
        share: 0.5,
        tls: true,
        old: null,
        packages: ['nginx', '2026-11-20'],
        text: 'two\nlines # and no comment\n',
        force: true,
      }),
      'types/role/web.yaml',
      '# yaml-language-server: $schema=../../schemas/role.schema.json\n' +
        'banner: ""\nversion: "1.10"\n"yes": "no"\nbig: "1e3"\nport: 80\nshare: 0.5\ntls: true\nold: null\n' +
        'packages:\n  - nginx\n  - "2026-11-20"\ntext: |\n  two\n  lines # and no comment\nforce: true\n',
    ],
    [
      'a client',
      putClientDraft({
        serial: '0xc3',
        role: 'proxy',
        name: 'c3',
        fingerprint: 'ab'.repeat(32),
        tenant: '',
        tags: ['a'],
      }),
      'clients/C3.yaml',
      `# yaml-language-server: $schema=../schemas/client.schema.json\nrole: proxy\nfingerprint: ${FINGERPRINT}\ntags:\n  - a\n`,
    ],
  ])('of %s contains only the necessary fields, and its schema', (_name, draft, path, text) => {
    expect(open().write(draft)).toEqual({ [path]: text });
  });
});

describe('a replaced client or instance', () => {
  it('changes the given fields of a client, and keeps the others', () => {
    const repository = open();
    expect(repository.write(putClientDraft({ serial: 'b2', role: 'automation-endpoint', tags: [] }))).toEqual({
      'clients/B2.yaml':
        'serial: "0xb2"\nname: b2\nrole: automation-endpoint\ntags: []\ntenant: lab-team\ndescription: In the lab\n',
    });
    expect(repository.write(putClientDraft({ serial: 'A1', description: 'Platform' }))).toEqual({
      'clients/A1.yaml': `${FILES['clients/A1.yaml']}description: Platform\n`,
    });
  });

  it('adds and removes limits of a client', () => {
    const less = { node: 'web-1', reads: 'site', writes: 'none' };
    const repository = open({ 'clients/D4.yaml': 'role: proxy\n' });
    expect(repository.write(putClientDraft({ serial: 'd4', ...less }))).toEqual({
      'clients/D4.yaml': 'role: proxy\nnode: web-1\nreads: site\nwrites: none\n',
    });
    const narrowed = open({ 'clients/D4.yaml': 'role: proxy\nnode: web-1\nreads: site\nwrites: none\n' });
    expect(narrowed.write(putClientDraft({ serial: 'd4', node: '', reads: 'all', writes: 'all' }))).toEqual({
      'clients/D4.yaml': 'role: proxy\nnode: ""\nreads: all\nwrites: all\n',
    });
  });

  it('corrects an invalid client file, and keeps its other fields', () => {
    const repository = open({ 'clients/D4.yaml': '# mine\nrole: admin\ndescription: Robot\n' });
    expect(repository.write(putClientDraft({ serial: 'd4', role: 'proxy' }))).toEqual({
      'clients/D4.yaml': '# mine\nrole: proxy\ndescription: Robot\n',
    });
  });
});

describe('removing an object', () => {
  it.each<[string, Draft, string]>([
    ['an instance', deleteInstanceDraft('shop', () => false), SHOP_FILE],
    ['an object', deleteObjectDraft('shape', 'spare'), 'types/shape/spare.yaml'],
    ['a hand-written clientcert', deleteObjectDraft('clientcert', 'lab-db'), 'types/clientcert/lab-db.yaml'],
    ['a client, spelled in any way', deleteClientDraft('0xb2'), 'clients/B2.yaml'],
  ])('removes its file: %s', (_name, draft, path) => {
    expect(open().write(draft)).toEqual({ [path]: null });
  });
});

/** Returns the lines that only one of the two texts has: `-` before, `+` after. Lines that moved count as unchanged. */
function changedLines(before: string, after: string): string[] {
  const old = before.split('\n');
  const now = after.split('\n');
  return [
    ...old.filter((line) => !now.includes(line)).map((line) => `-${line}`),
    ...now.filter((line) => !old.includes(line)).map((line) => `+${line}`),
  ];
}
