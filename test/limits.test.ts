// Limits in pairs: what one way admits, every other way admits too. Answers of providers: test/providers/answers-in-pairs.test.ts.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FileType } from '../src/catalog/catalog.ts';
import { FILE_BYTES_MAX } from '../src/catalog/decode-text.ts';
import { parseEntry } from '../src/catalog/parse-entry.ts';
import { isObjectPath, placePath } from '../src/catalog/paths.ts';
import { isSame, type Json, type JsonMap } from '../src/model/json.ts';
import { NAME_LENGTH_MAX, nameFault, TYPE_NAMES } from '../src/model/names.ts';
import { isError } from '../src/model/problem.ts';
import { ServiceError } from '../src/model/service-error.ts';
import { desiredAfter } from '../src/service/write/check-edits.ts';
import type { Draft } from '../src/service/write/draft.ts';
import { putInstanceDraft, putObjectDraft, writableType } from '../src/service/write/drafts.ts';
import { countRuns } from './support/count-runs.ts';
import { DraftedRepository } from './support/drafted-repository.ts';
import { TextRepository } from './support/text-repository.ts';

/** Names of every kind: short ones of odd characters, and long ones. */
const NAME = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'aZ09._-.', ' ', 'é', '\n', ':', '@', '%', '~', '\\'), maxLength: 6 }),
  fc
    .tuple(fc.constantFrom('a', '-', '_'), fc.integer({ min: 247, max: 251 }))
    .map(([text, times]) => text.repeat(times)),
  fc.constantFrom(
    'a.lock',
    'a.LOCK',
    'lock',
    'a.lock.b',
    'a..b',
    'constructor',
    '__proto__',
    'toString',
    'con',
    '.',
    '..',
  ),
);

const FILES = { 'tree.yaml': 'name: global\ntype: common\n', 'stacks/templates/empty.yaml': 'resources: {}\n' };
const WRITABLE = TYPE_NAMES.filter((type) => type !== 'all');
const FOLDERS = { 'stack-template': 'stacks/templates', 'stack-instance': 'stacks/instances' };

function folderOf(type: string): string {
  return FOLDERS[type as keyof typeof FOLDERS] ?? `types/${type}`;
}

/** Tells whether a file of this type may hold a value: nothing is wrong with it. */
function isRight(type: FileType, value: unknown): boolean {
  const path = type === 'tree' ? 'tree.yaml' : `${folderOf(type)}/a.yaml`;
  return !parseEntry(path, 'o', JSON.stringify(value)).problems.some(isError);
}

/** Returns why a body would not be written, or undefined. */
function refusalOf(draft: () => Draft, repository = new TextRepository()): string | undefined {
  try {
    const made = draft();
    const desired = repository.commit(FILES);
    desiredAfter(desired, made.edits(desired), made);
    return undefined;
  } catch (error) {
    if (error instanceof ServiceError) return error.message;
    throw error;
  }
}

function putDraft(type: string, name: string): Draft {
  if (type === 'stack-instance') return putInstanceDraft(name, { stackTemplate: 'empty' }, { force: true });
  return putObjectDraft(writableType(type), type === 'stack-template' ? { name, resources: {} } : { name });
}

describe('a name', () => {
  it('is valid in one place exactly if it is valid in every other', () => {
    fc.assert(
      fc.property(NAME, fc.constantFrom(...WRITABLE), (name, type) => {
        const isName = nameFault(name) === undefined;
        const resource = { type: 'Platform::Server', properties: {} };
        const places = {
          file: isObjectPath(placePath(`${folderOf(type)}/${name}.yaml`, '100644')),
          body: refusalOf(() => putDraft(type, name)) === undefined,
          tree: isRight('tree', { name, type: 'common' }),
          resource: isRight(
            'stack-template',
            JSON.parse(`{"resources":{${JSON.stringify(name)}:${JSON.stringify(resource)}}}`),
          ),
          server: isServerName(name),
        };
        expect(places).toEqual({ file: isName, body: isName, tree: isName, resource: isName, server: isName });
      }),
      { numRuns: countRuns(300), examples: [0, 1].map((more) => ['a'.repeat(NAME_LENGTH_MAX + more), 'role']) },
    );
  });

  it('needs no escape in a URL, a file name and a Git ref', () => {
    fc.assert(
      fc.property(NAME, (name) => {
        fc.pre(nameFault(name) === undefined);
        expect(encodeURIComponent(name)).toBe(name);
        expect(new URL(`https://host/types/zone/${name}/`).pathname).toBe(`/types/zone/${name}/`);
        expect(Buffer.byteLength(`${name}.yaml`)).toBeLessThanOrEqual(255);
      }),
    );
  });

  it('that is reserved for one type is refused in every place', () => {
    expect(isObjectPath(placePath('types/clientcert/all.yaml', '100644'))).toBe(false);
    expect(refusalOf(() => putDraft('clientcert', 'all'))).toMatch(/cannot be called "all"/);
    expect(isServerName('all')).toBe(false);
  });
});

function isServerName(name: string): boolean {
  const template = `resources: { web: { type: "Platform::Server", properties: { name: ${JSON.stringify(name)} } } }\n`;
  const files = {
    ...FILES,
    'stacks/templates/web.yaml': template,
    'stacks/instances/shop.yaml': 'stackTemplate: web\n',
  };
  const derivation = new TextRepository().try(files);
  return derivation.isFollowed && !derivation.desired.problems.some(isError);
}

const KIB = 1024;
const TEXT_MAX = 64 * KIB;

/** Roles at every limit of a file: just inside of it, and just beyond. */
const ROLES: readonly (readonly [what: string, role: JsonMap, isRight: boolean])[] = [
  ['a text of 64 KiB', { a: 'x'.repeat(TEXT_MAX) }, true],
  ['a text of 64 KiB and a character', { a: 'x'.repeat(TEXT_MAX + 1) }, false],
  ['an item of 64 KiB and a character', { a: ['x'.repeat(TEXT_MAX + 1)] }, false],
  ['a key of 250 characters', { ['k'.repeat(NAME_LENGTH_MAX)]: 'x' }, true],
  ['a key of 251 characters', { ['k'.repeat(NAME_LENGTH_MAX + 1)]: 'x' }, false],
  ['the maximum number of keys', Object.fromEntries(numbers(24_998).map((each) => [`k${each}`, each])), true],
  ['more keys than the maximum', Object.fromEntries(numbers(25_001).map((each) => [`k${each}`, each])), false],
  ['a long list', { a: numbers(49_990).map(String) }, true],
  ['a list with more items than the maximum', { a: numbers(50_001).map(String) }, false],
  ['a depth of 64', { a: nested(63) }, false],
  ['a depth of 66', { a: nested(65) }, false],
  ['many lines, which are longer with their indents', fromTexts(13, 'line\n'), false],
  ['quotes, each of which is escaped', fromTexts(7, `"'\\\t`), true],
  ['short lines', fromTexts(9, 'a\n'), false],
  ['more than 1 MiB of texts', fromTexts(17, 'abcd'), false],
];

function numbers(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}

function nested(depth: number): Json {
  return depth === 0 ? 'x' : [nested(depth - 1)];
}

/** Texts that are as long as they may be. */
function fromTexts(count: number, part: string): JsonMap {
  const text = part.repeat(Math.floor(TEXT_MAX / part.length));
  return Object.fromEntries(numbers(count).map((index) => [`k${index}`, text]));
}

describe.each(ROLES)('%s', (_what, role, isWritten) => {
  it('is judged alike in a file and in a body, and survives writing and reading', () => {
    const [path, name] = ['types/role/web.yaml', 'web'];
    const repository = new DraftedRepository(FILES);
    const draft = (): Draft => putObjectDraft('role', { name, ...role });
    if (!isWritten) {
      expect(repository.refused(draft).code).toBe('invalid_input');
      return;
    }
    expect(Buffer.byteLength(JSON.stringify({ name, ...role }))).toBeLessThan(FILE_BYTES_MAX);
    repository.write(draft());
    const read = repository.desired.catalog.files.get(path)?.object as JsonMap;
    expect(isSame(read, { ...role, name, type: 'role', description: '' })).toBe(true);
    expect(repository.desired.problems.filter(isError)).toEqual([]);
    expect(repository.write(putObjectDraft('role', JSON.parse(JSON.stringify(read))))).toEqual({});
    // Written by hand on one line, the same value is read as well.
    expect(parseEntry(path, 'o', JSON.stringify(role)).problems.filter(isError)).toEqual([]);
  });
});
