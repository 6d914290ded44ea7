// Limits in pairs: what one way admits, every other way admits too. Answers of providers: test/providers/answers-in-pairs.test.ts.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FileType } from '../src/catalog/catalog.ts';
import { parseEntry } from '../src/catalog/parse-entry.ts';
import { isObjectPath, placePath } from '../src/catalog/paths.ts';
import { nameFault, TYPE_NAMES } from '../src/model/names.ts';
import { isError } from '../src/model/problem.ts';
import { ServiceError } from '../src/model/service-error.ts';
import { finish } from '../src/model/steps.ts';
import { desiredAfter } from '../src/service/write/check-edits.ts';
import type { Draft } from '../src/service/write/draft.ts';
import { putInstanceDraft, putObjectDraft, writableType } from '../src/service/write/drafts.ts';
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
    finish(desiredAfter(desired, made.edits(desired), made));
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
  it('is right in one place exactly if it is right in every other', () => {
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
      { numRuns: 300 },
    );
  });

  it('stands in a URL, in a file name and in a ref of git as it is', () => {
    fc.assert(
      fc.property(NAME, (name) => {
        fc.pre(nameFault(name) === undefined);
        expect(encodeURIComponent(name)).toBe(name);
        expect(new URL(`https://host/types/zone/${name}/`).pathname).toBe(`/types/zone/${name}/`);
        expect(Buffer.byteLength(`${name}.yaml`)).toBeLessThanOrEqual(255);
      }),
    );
  });

  it('is kept from objects of one type in every place', () => {
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
