// Every way in which the two sides of a merge can have changed a file.
import { describe, expect, it } from 'vitest';
import type { SnapshotFile } from '../../src/model/snapshot.ts';
import { mergeAncestors, mergeFiles } from '../../src/plan/merge-files.ts';

type Texts = Readonly<Record<string, string>>;

/** A content that begins with `->` is a link. */
function filesOf(texts: Texts): ReadonlyMap<string, SnapshotFile> {
  return new Map(
    Object.entries(texts).map(([path, oid]) => [path, { oid, mode: oid.startsWith('->') ? '120000' : '100644' }]),
  );
}

function merged(ancestor: Texts, base: Texts, head: Texts) {
  const { files, conflicts } = mergeFiles({
    ancestor: filesOf(ancestor),
    base: filesOf(base),
    head: filesOf(head),
  });
  return { files: Object.fromEntries([...files].map(([path, { oid }]) => [path, oid])), conflicts };
}

const WEB = 'types/role/web.yaml';

describe('a file', () => {
  it.each<[string, Texts, Texts, Texts, Texts, boolean]>([
    ['that nobody changed', { [WEB]: '1' }, { [WEB]: '1' }, { [WEB]: '1' }, { [WEB]: '1' }, false],
    ['that head changed', { [WEB]: '1' }, { [WEB]: '1' }, { [WEB]: '2' }, { [WEB]: '2' }, false],
    ['that base changed', { [WEB]: '1' }, { [WEB]: '2' }, { [WEB]: '1' }, { [WEB]: '2' }, false],
    ['that both changed equally', { [WEB]: '1' }, { [WEB]: '2' }, { [WEB]: '2' }, { [WEB]: '2' }, false],
    ['that both changed', { [WEB]: '1' }, { [WEB]: '2' }, { [WEB]: '3' }, { [WEB]: '2' }, true],
    ['that head added', {}, {}, { [WEB]: '1' }, { [WEB]: '1' }, false],
    ['that base added', {}, { [WEB]: '1' }, {}, { [WEB]: '1' }, false],
    ['that both added', {}, { [WEB]: '1' }, { [WEB]: '2' }, { [WEB]: '1' }, true],
    ['that head removed', { [WEB]: '1' }, { [WEB]: '1' }, {}, {}, false],
    ['that both removed', { [WEB]: '1' }, {}, {}, {}, false],
    ['that head removed and base changed', { [WEB]: '1' }, { [WEB]: '2' }, {}, { [WEB]: '2' }, true],
    ['that base removed and head changed', { [WEB]: '1' }, {}, { [WEB]: '2' }, {}, true],
    ['that head made a link', { [WEB]: '1' }, { [WEB]: '1' }, { [WEB]: '->1' }, { [WEB]: '->1' }, false],
  ])('%s', (_, ancestor, base, head, files, isConflict) => {
    expect(merged(ancestor, base, head)).toEqual({ files, conflicts: isConflict ? [WEB] : [] });
  });

  it('beside the layout never needs a rebase', () => {
    expect(merged({ 'main.c': '1' }, { 'main.c': '2' }, { 'main.c': '3' })).toEqual({
      files: { 'main.c': '2' },
      conflicts: [],
    });
  });

  it.each([
    ['a folder of base', { 'types/role/web.yaml/notes.txt': '1' }, { [WEB]: '1' }],
    ['a file of base', { 'types/role/web': '1' }, { 'types/role/web/a.yaml': '1' }],
  ])('that stands where %s does needs a rebase', (_, base, head) => {
    expect(merged({}, base, head)).toEqual({ files: base, conflicts: Object.keys(head) });
  });

  it('beside the layout that stands where a folder does is left out', () => {
    expect(merged({}, { 'docs/a.txt': '1' }, { docs: '1' })).toEqual({ files: { 'docs/a.txt': '1' }, conflicts: [] });
  });

  it('takes the place of a folder that it replaces', () => {
    const before = { 'types/role/web.yaml/notes.txt': '1' };
    expect(merged(before, before, { [WEB]: '1' })).toEqual({ files: { [WEB]: '1' }, conflicts: [] });
  });
});

describe('of two merge bases', () => {
  it.each<[string, Texts, Texts, Texts, Texts]>([
    ['what neither changed', { [WEB]: '1' }, { [WEB]: '1' }, { [WEB]: '1' }, { [WEB]: '1' }],
    ['what one changed', { [WEB]: '1' }, { [WEB]: '1' }, { [WEB]: '2' }, { [WEB]: '2' }],
    ['what the other changed', { [WEB]: '1' }, { [WEB]: '2' }, { [WEB]: '1' }, { [WEB]: '2' }],
    ['what one removed', { [WEB]: '1' }, { [WEB]: '1' }, {}, {}],
    ['what both changed', { [WEB]: '1' }, { [WEB]: '2' }, { [WEB]: '3' }, { [WEB]: '' }],
    ['what one changed and the other removed', { [WEB]: '1' }, { [WEB]: '2' }, {}, { [WEB]: '' }],
  ])('%s', (_, ancestor, base, head, files) => {
    const joined = mergeAncestors({ ancestor: filesOf(ancestor), base: filesOf(base), head: filesOf(head) });
    expect(Object.fromEntries([...joined].map(([path, { oid }]) => [path, oid]))).toEqual(files);
  });
});
