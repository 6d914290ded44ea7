// Bodies that are refused for what they say themselves, with which code and words.
import { describe, expect, it } from 'vitest';
import {
  deleteClientDraft,
  putClientDraft,
  putInstanceDraft,
  putObjectDraft,
  putTreeDraft,
  writableType,
} from '../../../src/service/write/drafts.ts';
import { DraftedRepository } from '../../support/drafted-repository.ts';
import { FILES, put, type RefusedRow, remove } from './stacks.ts';

const KEY = 'k'.repeat(60_000);
const TEXT = 'x'.repeat(64 * 1024 + 1);
const NO_TEXT = 'the text holds an escape that is no character: NUL or half of a surrogate pair; remove the escape';

/** Seen without looking at any other file. */
const BODIES: readonly RefusedRow[] = [
  [
    'a bad name',
    () => put('a/b', {}),
    'invalid_input',
    'name: "a/b" cannot be the name of a stack instance: it holds something else than letters, digits, ".", "_" and "-"',
  ],
  ['no name', () => putObjectDraft('role', {}), 'invalid_input', 'name: is missing'],
  [
    'another name than the path',
    () => put('blog', { name: 'shop' }),
    'invalid_input',
    'name: the body says "shop", the path "blog"',
  ],
  [
    'another type than the path',
    () => putObjectDraft('role', { name: 'web', type: 'zone' }),
    'invalid_input',
    'type: the body says "zone", the path "role"',
  ],
  ['no serial', () => putClientDraft({ role: 'proxy' }), 'invalid_input', 'serial: is missing'],
  [
    'a wrong serial',
    () => putClientDraft({ serial: 'xyz' }),
    'invalid_input',
    'serial: "xyz" is no serial of a certificate: "x" is no hexadecimal digit',
  ],
  [
    'a client of another name',
    () => putClientDraft({ serial: 'b2', name: 'C3' }),
    'invalid_input',
    'name: "C3" is not the serial; leave it out, or write "B2"',
  ],
  [
    'a new client without a role',
    () => putClientDraft({ serial: 'c3' }),
    'invalid_input',
    'role: a new client needs a role: administrator, automation-endpoint, proxy',
  ],
  ['a tree that is a list', () => putTreeDraft([]), 'invalid_input', 'The body has to be a tree node: a JSON object'],
  [
    'half of a surrogate pair',
    () => putObjectDraft('role', { name: 'web', banner: '\ud83d' }),
    'invalid_input',
    NO_TEXT,
  ],
  ['a key that is none', () => putObjectDraft('role', { name: 'web', 'a\ud83d': 'b' }), 'invalid_input', NO_TEXT],
  [
    'a number that is too large',
    () => putObjectDraft('role', JSON.parse('{ "name": "web", "a/b": 1e999 }')),
    'invalid_input',
    expect.stringContaining('is no number that JSON can hold'),
  ],
  [
    'a key of 60,000 characters in a file that is there',
    () => putTreeDraft({ name: 'all', type: 'common', children: [{ [KEY]: 'x' }] }),
    'edit_by_hand',
    expect.stringContaining('has 60000 characters, and a key may have 250'),
  ],
  [
    'a text of 64 KiB and one',
    () => putObjectDraft('role', { name: 'web', a: TEXT }),
    'invalid_input',
    expect.stringContaining('has 65537 characters, and a text may have 65536'),
  ],
  ['removing an instance that is not there', () => remove('blog'), 'not_found', 'There is no stack instance "blog"'],
  ['removing a client that is not there', () => deleteClientDraft('c3'), 'not_found', 'There is no client "C3"'],
  [
    'a type that has no files',
    () => putObjectDraft(writableType('stack-instance'), {}),
    'not_found',
    'There is no type "stack-instance" that can be written',
  ],
  [
    'an instance that exists',
    () => putInstanceDraft('shop', { stackTemplate: 'web' }, { force: false }),
    'conflict',
    'The stack instance "shop" exists already; force=true updates it',
  ],
];

/** The object itself is wrong. */
const WRONG: readonly RefusedRow[] = [
  [
    'an unknown template',
    () => put('blog', { stackTemplate: 'wep' }),
    'invalid_input',
    'there is no stack template "wep"; did you mean "web"?',
  ],
  [
    'a key that reaches for the prototype',
    () => putObjectDraft('role', JSON.parse('{"name":"web","__proto__":"x"}')),
    'invalid_input',
    expect.stringContaining('__proto__'),
  ],
  [
    'a layer that selects another',
    () => putObjectDraft('role', { name: 'web', zone: 'dmz' }),
    'invalid_input',
    expect.stringContaining('it cannot select another'),
  ],
  [
    'a server name that is taken',
    () =>
      put('blog', {
        stackTemplate: 'web',
        parameters: { zone: 'dmz' },
        stackTemplateAdditions: {
          resources: { web: { properties: { resource_def: { properties: { name: 'shop-web-<<index>>' } } } } },
        },
      }),
    'invalid_input',
    expect.stringContaining('the server name "shop-web-1" is also that of a server of the instance "shop"'),
  ],
];

describe.each<[string, readonly RefusedRow[]]>([
  ['a body', BODIES],
  ['a wrong object', WRONG],
])('%s', (_name, rows) => {
  it.each(rows.map((row) => ({ what: row[0], row })))('$what', ({ row: [, draft, code, message] }) => {
    expect(new DraftedRepository(FILES).refused(draft)).toMatchObject({ code, message });
  });
});

it('points at the field', () => {
  expect(new DraftedRepository(FILES).refused(() => put('blog', { name: 'shop' })).details).toEqual([
    { pointer: '/name', message: 'the body says "shop", the path "blog"' },
  ]);
});
