import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { DEFAULT_HIERARCHY } from '../../src/catalog/hierarchy.ts';
import { FILES_MAX, loadCatalog, wantsBlob } from '../../src/catalog/load-catalog.ts';
import type { Entry } from '../../src/model/entry.ts';
import { LAYOUT_BYTES_MAX } from '../../src/model/snapshot.ts';
import { SOURCE_LIMITS } from '../../src/repository/source.ts';
import { countRuns } from '../support/count-runs.ts';
import { snapshotOf, TREE } from './snapshots.ts';

const SHOP = {
  'tree.yaml': `${TREE}children: [{ name: prod, type: environment }]\n`,
  'types/environment/prod.yaml': 'ntp: [a]\n',
  'types/clientcert/lab.yaml': 'environment: prod\n',
  'stacks/templates/shop.yaml': 'resources: {}\n',
  'stacks/instances/eu/shop-eu.yaml': 'stackTemplate: shop\n',
  'clients/0A1B.yaml': 'role: administrator\n',
  'README.md': '# Stacks\n',
};

function said(catalog: Catalog): string[] {
  return catalog.problems.map(
    ({ severity, file, line, column, code }) => `${severity} ${file}:${line}:${column} ${code}`,
  );
}

test('loadCatalog finds every object under its name', () => {
  const catalog = loadCatalog(snapshotOf(SHOP));
  expect(catalog.problems).toEqual([]);
  expect(catalog.fatal).toEqual([]);
  expect([...catalog.templates.keys()]).toEqual(['shop']);
  expect([...catalog.instances.keys()]).toEqual(['shop-eu']);
  expect([...catalog.clients.keys()]).toEqual(['0A1B']);
  expect([...catalog.objects.keys()].sort()).toEqual(['clientcert/lab', 'environment/prod']);
  expect(catalog.objects.get('environment/prod')?.object).toMatchObject({ name: 'prod', ntp: ['a'] });
  expect(catalog.tree.object).toMatchObject({ name: 'global', children: [{ name: 'prod' }] });
  expect(catalog.hierarchy.object).toBe(DEFAULT_HIERARCHY);
  expect(catalog.hierarchy.locate('/order')).toEqual({ line: 1, column: 1 });
  expect([...catalog.files.keys()]).toEqual(
    Object.keys(SHOP)
      .filter((path) => path !== 'README.md')
      .sort(),
  );
  expect(catalog).toMatchObject({ commit: 'c0ffee', time: '2026-11-20T10:13:56Z', parsed: 6 });
});

describe('names that two files claim', () => {
  test.each([
    ['types/zone/a.yaml', 'types/zone/sub/a.yaml', 'zone "a"', 'x: 1'],
    ['stacks/instances/a.yaml', 'stacks/instances/b/a.yaml', 'stack-instance "a"', 'stackTemplate: s'],
    ['stacks/templates/a.yaml', 'stacks/templates/b/a.yaml', 'stack-template "a"', 'resources: {}'],
    ['clients/AB.yaml', 'clients/x/AB.yaml', 'client "AB"', 'role: proxy'],
  ])('%s and %s', (first, second, what, own) => {
    const catalog = loadCatalog(snapshotOf({ ...SHOP, [second]: own, [first]: own }));
    const message = `the ${what} is defined in two files: ${first} and ${second}`;
    expect(catalog.problems).toMatchObject([first, second].map((file) => ({ code: 'duplicate_name', file, message })));
    expect(catalog.fatal).toEqual([]);
  });
});

describe('a mistake that stops the whole commit', () => {
  test('is a missing tree, with advice', () => {
    const hintOf = (texts: Record<string, string>) => loadCatalog(snapshotOf(texts)).fatal[0]?.hint;
    expect(hintOf({})).toBe(
      'add it with at least "name:" and "type: common"; if the layout is in a folder, name that folder (treeline validate DIR, repository.directory)',
    );
    expect(hintOf({ 'tree.yml': TREE })).toBe('rename tree.yml to tree.yaml');
    expect(loadCatalog(snapshotOf({})).tree.locate('/name')).toEqual({ line: 1, column: 1 });
  });

  test.each(['tree.yaml', 'hierarchy.yaml'])('is %s as a link', (path) => {
    const catalog = loadCatalog(snapshotOf({ ...SHOP, [path]: 'elsewhere.yaml' }, { modes: { [path]: '120000' } }));
    expect(catalog.fatal.map(({ file, code }) => [file, code])).toEqual([[path, 'not_a_file']]);
    expect(path === 'tree.yaml' ? catalog.tree.object : catalog.hierarchy.object).toBe(null);
  });

  test('is too many files, of which none is read', () => {
    const many = Object.fromEntries(
      Array.from({ length: FILES_MAX }, (_, index) => [`types/zone/z${index}.yaml`, 'a: 1']),
    );
    const catalog = loadCatalog(snapshotOf({ ...many, 'tree.yaml': TREE, 'README.md': '' }));
    expect(catalog.fatal).toEqual([
      {
        code: 'too_many_files',
        severity: 'error',
        file: '.',
        line: 1,
        column: 1,
        pointer: '',
        message: 'the layout has 20001 files, and at most 20000 are read',
        hint: 'split the repository',
      },
    ]);
    expect(catalog.problems).toEqual(catalog.fatal);
    expect(catalog.parsed).toBe(0);
    expect(loadCatalog(snapshotOf({ ...many, 'README.md': '' })).parsed).toBe(FILES_MAX);
  });
});

describe('more bytes than the limit', () => {
  const MIB = 1024 * 1024;
  /** Files of 1 MiB. A parser reads characters, so those of three bytes take a third of the time. */
  const filler = (from: number, to: number): Readonly<Record<string, string>> =>
    Object.fromEntries(
      Array.from({ length: to - from }, (_, at) => {
        const text = `a: 1\n# ${from + at} `;
        const rest = MIB - text.length;
        return [`types/zone/z${from + at}.yaml`, text + 'x'.repeat(rest % 3) + '€'.repeat(Math.floor(rest / 3))];
      }),
    );

  test('are refused for a whole commit and for changes', () => {
    const half = { ...filler(0, 32), 'tree.yaml': TREE };
    const whole = { ...half, ...filler(32, 64) };
    const before = loadCatalog(snapshotOf(half));
    const catalogs = [
      loadCatalog(snapshotOf(whole)),
      loadCatalog(snapshotOf(whole, { wants: wantsBlob(before) }), before),
    ];
    const bytes = 64 * MIB + TREE.length;
    for (const { fatal, problems } of catalogs) {
      const message = `the files of the layout have ${bytes} bytes together, and at most ${64 * MIB} are read`;
      expect(fatal).toMatchObject([{ code: 'too_many_bytes', severity: 'error', file: '.', message }]);
      expect(problems).toEqual(fatal);
    }
    expect(SOURCE_LIMITS.snapshotBytesMax).toBe(LAYOUT_BYTES_MAX);
  });

  test('count equal contents once', () => {
    const [content = ''] = Object.values(filler(0, 1));
    const copies = Object.fromEntries(Array.from({ length: 66 }, (_, at) => [`types/zone/z${at}.yaml`, content]));
    expect(loadCatalog(snapshotOf({ ...copies, 'tree.yaml': TREE })).fatal).toEqual([]);
  });
});

describe('loading a changed commit', () => {
  test('reads only new and changed files of the layout', () => {
    const first = loadCatalog(snapshotOf(SHOP));
    const asked: string[] = [];
    const later = {
      ...SHOP,
      'types/environment/prod.yaml': 'ntp: [b]\n',
      'types/zone/z.yml': '',
      'types/zone/z.yaml': 'a: 1\n',
    };
    const known = wantsBlob(first);
    const wants = (path: string, oid: string) => known(path, oid) && asked.push(path) > 0;
    const second = loadCatalog(snapshotOf(later, { wants }), first);
    expect(asked.sort()).toEqual(['types/environment/prod.yaml', 'types/zone/z.yaml']);
    expect(second.parsed).toBe(2);
    expect(said(second)).toEqual(['warning types/zone/z.yml:1:1 wrong_extension']);
    expect(second.objects.get('environment/prod')?.object).toMatchObject({ ntp: ['b'] });
    expect(Object.keys(SHOP).filter((path) => wantsBlob()(path, 'x'))).toHaveLength(6);
  });

  test('keeps the objects of unchanged entries, tree and hierarchy', () => {
    const first = loadCatalog(snapshotOf(SHOP));
    const second = loadCatalog(
      snapshotOf({ ...SHOP, 'clients/FF.yaml': 'role: proxy' }, { wants: wantsBlob(first) }),
      first,
    );
    expect(second.instances.get('shop-eu')).toBe(first.instances.get('shop-eu'));
    expect(second.tree).toBe(first.tree);
    expect(second.hierarchy).toBe(first.hierarchy);
    expect(second.clients.size).toBe(2);
  });

  test('uses a parsed file with the same path and content unless it is a link', () => {
    const path = 'types/environment/prod.yaml';
    const edited = snapshotOf({ ...SHOP, [path]: 'ntp: [edited]\n' });
    const entry = loadCatalog(edited).files.get(path);
    if (entry === undefined) throw new Error('the changed file is there');
    const parsedFiles = new Map([[path, entry]]);
    const wants = wantsBlob(undefined, parsedFiles);
    expect([wants(path, entry.oid), wants(path, 'other'), wants('tree.yaml', 'x')]).toEqual([false, true, true]);
    const lean = snapshotOf({ ...SHOP, [path]: 'ntp: [edited]\n' }, { wants });
    expect(loadCatalog(lean, undefined, parsedFiles).objects.get('environment/prod')).toBe(entry);
    const linked = snapshotOf({ ...SHOP, [path]: 'ntp: [edited]\n' }, { modes: { [path]: '120000' } });
    const link = loadCatalog(linked, undefined, parsedFiles);
    expect(said(link)).toEqual([`error ${path}:1:1 not_a_file`]);
    const other = loadCatalog(snapshotOf(SHOP), undefined, parsedFiles);
    expect(other.objects.get('environment/prod')?.object).not.toMatchObject({ ntp: ['edited'] });
  });

  test('reports a file without content as too large until it has one', () => {
    const path = 'stacks/instances/eu/shop-eu.yaml';
    const large = loadCatalog(snapshotOf(SHOP, { wants: (wanted) => wanted !== path }));
    expect(large.problems).toMatchObject([
      { file: path, code: 'file_too_large', message: 'the file is larger than 1 MiB' },
    ]);
    expect(large.instances.get('shop-eu')?.object).toBe(null);
    expect(large.parsed).toBe(5);
    const now = loadCatalog(snapshotOf(SHOP, { wants: wantsBlob(large) }), large);
    expect(now.problems).toEqual([]);
    expect(now.parsed).toBe(1);
  });

  test('returns the same catalog as a first load', () => {
    const texts = fc.dictionary(
      fc.constantFrom(
        'tree.yaml',
        'hierarchy.yaml',
        'types/zone/a.yaml',
        'types/zone/b/a.yaml',
        'types/zonee/a.yaml',
        'types/clientcert/n.yaml',
        'clients/AB.yaml',
        'clients/x/AB.yaml',
        'stacks/instances/eu.yaml',
        'stacks/templates/shop.yml',
        'README.md',
      ),
      fc.constantFrom(
        TREE,
        `${TREE}children: [{ name: z, type: zone }]`,
        'order: [common, role]\nprovisioning: []\n',
        'a: 1.10\nb: {}',
        'zone: a\n',
        'role: proxy',
        'stackTemplate: shop',
        'a: b: c',
        '',
      ),
    );
    const links = fc.constantFrom<Record<string, '120000'>[]>(
      {},
      { 'types/zone/a.yaml': '120000' },
      { 'tree.yaml': '120000' },
    );
    fc.assert(
      fc.property(texts, texts, links, links, (before, now, linksBefore, linksNow) => {
        const previous = loadCatalog(snapshotOf(before, { modes: linksBefore }));
        const lean = snapshotOf(now, { modes: linksNow, wants: wantsBlob(previous) });
        expect(contentOf(loadCatalog(lean, previous))).toEqual(
          contentOf(loadCatalog(snapshotOf(now, { modes: linksNow }))),
        );
      }),
      { numRuns: countRuns(300) },
    );
  });
});

/** All of a catalog but `parsed`, as plain data. */
function contentOf(catalog: Catalog): unknown {
  const plain = ({ path, oid, object, problems }: Entry<unknown>) => ({ path, oid, object, problems });
  const named = (entries: ReadonlyMap<string, Entry<unknown>>) =>
    [...entries].map(([name, entry]) => [name, plain(entry)]);
  const { templates, instances, clients, objects, files, tree, hierarchy, problems, fatal } = catalog;
  return {
    maps: [templates, instances, clients, objects, files].map(named),
    tree: plain(tree),
    hierarchy: plain(hierarchy),
    problems,
    fatal,
  };
}
