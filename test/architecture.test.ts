// Checks who imports whom and which code is pure; Biome checks the shape of files and functions. Each rule is first tried on a
// small text that breaks it, so that a rule that no longer finds anything is noticed.
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { FOLDER_TARGETS } from './architecture/folder-targets.ts';
import { IMPORT_RULES } from './architecture/import-rules.ts';
import { PURITY_RULES } from './architecture/purity-rules.ts';
import { broken, type Rule } from './architecture/rule.ts';
import { parseSource, readSources } from './architecture/source-file.ts';

const RULES: readonly Rule[] = [...IMPORT_RULES, ...PURITY_RULES];

interface Trial {
  readonly rule: string;
  /** Path to text. */
  readonly files: Readonly<Record<string, string>>;
  /** The beginnings of the findings, in order. That right texts have none, the sources show. */
  readonly finds: readonly string[];
}

const TRIALS: readonly Trial[] = [
  { rule: 'every folder has a place', files: { 'src/lib/a.ts': '' }, finds: ['src/lib/a.ts:1 is in "lib"'] },
  {
    rule: 'only what the table allows',
    files: { 'src/expand/a.ts': "import { b } from '../model/b.ts';\nimport type { c } from '../hiera/c.ts';" },
    finds: ['src/expand/a.ts:2 imports src/hiera/c.ts'],
  },
  {
    rule: 'only what the table allows',
    files: {
      'src/store/a.ts': "import { b } from '../repository/b.ts';",
      'src/derive.ts': "import { a } from './base/clock.ts';",
    },
    finds: ['src/store/a.ts:1 imports src/repository/b.ts', 'src/derive.ts:1 imports src/base/clock.ts'],
  },
  {
    rule: 'only what the table allows',
    files: {
      'src/reconcile/a.ts':
        "import type { Store } from '../store/store.ts';\nimport { type Source } from '../repository/source.ts';\nimport { SourceError } from '../repository/source.ts';\nimport type { Lock } from '../store/lock.ts';",
    },
    finds: ['src/reconcile/a.ts:3 imports src/repository/source.ts', 'src/reconcile/a.ts:4 imports src/store/lock.ts'],
  },
  {
    rule: 'only what the table allows',
    files: {
      'src/catalog/a.ts': "import zone from '../../schemas/zone.schema.json' with { type: 'json' };",
      'src/hiera/a.ts': "import zone from '../../schemas/zone.schema.json' with { type: 'json' };",
      'src/cli/a.ts': "import { rows } from '../../test/support/rows.ts';\nexport { b } from '../store/b.ts';",
    },
    finds: ['src/hiera/a.ts:1 imports schemas/zone.schema.json'],
  },
  {
    rule: 'only what the table allows',
    files: {
      'src/repository/git/a.ts':
        "import { invariant } from '../../base/invariant.ts';\nimport type { Snapshot } from '../../model/snapshot.ts';",
      'src/repository/git/b.ts':
        "import { SourceError } from '../source.ts';\nimport type { Logger } from '../../base/log.ts';",
      'src/repository/remotes/c.ts': "import { runGit } from '../git/git-process.ts';",
      'src/store/d.ts': "import { runGit } from '../repository/git/git-process.ts';",
    },
    finds: [
      'src/repository/git/a.ts:2 imports src/model/snapshot.ts',
      'src/repository/git/b.ts:1 imports src/repository/source.ts',
      'src/repository/git/b.ts:2 imports src/base/log.ts',
      'src/store/d.ts:1 imports src/repository/git/git-process.ts',
    ],
  },
  {
    rule: 'pure stages import no part of Node',
    files: {
      'src/hiera/a.ts': "import { createHash, randomUUID } from 'node:crypto';",
      'src/catalog/b.ts': "import { load } from 'js-yaml';\nimport { readFile } from 'node:fs/promises';",
      'src/machine/c.ts': "import { load } from 'js-yaml';",
      'src/store/d.ts': "import { randomUUID } from 'node:crypto';",
      'src/desired/e.ts': "import { createHash } from 'node:crypto';",
    },
    finds: [
      'src/hiera/a.ts:1 imports node:crypto',
      'src/catalog/b.ts:2 imports node:fs/promises',
      'src/machine/c.ts:1 imports js-yaml',
    ],
  },
  {
    rule: 'no folders import one another',
    files: { 'src/api/a.ts': "import { b } from '../cli/b.ts';", 'src/cli/c.ts': "import { d } from '../api/d.ts';" },
    finds: ['api:1 is in a circle: api → cli → api'],
  },
  {
    rule: 'no files import one another',
    files: { 'src/api/a.ts': "import { b } from './b.ts';", 'src/api/b.ts': "import type { A } from './a.ts';" },
    finds: ['src/api/a.ts:1 is in a circle'],
  },
  {
    rule: 'pure stages touch no clock',
    files: {
      'src/expand/a.ts': 'const a = Date.now();\nconst b = new Date();\nconst c = Math.random();\nprocess.exit();',
      'src/machine/b.ts': 'console.log(1);\nfetch("x");\nsetTimeout(f, 1);\nglobalThis.x = Date();',
    },
    finds: [
      'src/expand/a.ts:1 uses Date.now',
      'src/expand/a.ts:2 uses new Date()',
      'src/expand/a.ts:3 uses Math.random',
      'src/expand/a.ts:4 uses process.exit',
      'src/machine/b.ts:1 uses console.log',
      'src/machine/b.ts:2 uses fetch("x")',
      'src/machine/b.ts:3 uses setTimeout(f, 1)',
      'src/machine/b.ts:4 uses globalThis.x',
      'src/machine/b.ts:4 uses Date()',
    ],
  },
  {
    rule: 'time and chance are handed in',
    files: { 'src/reconcile/a.ts': 'Date.now();\nclock.now();\nnew Date(1);', 'src/store/b.ts': 'Date.now();' },
    finds: ['src/reconcile/a.ts:1 uses Date.now'],
  },
];

describe('each rule of the architecture', () => {
  it.each(TRIALS.map((trial, index) => ({ ...trial, index })))('$index: $rule', ({ rule: title, files, finds }) => {
    const rules = RULES.filter((rule) => rule.title.includes(title));
    expect(rules).toHaveLength(1);
    const sources = Object.entries(files).map(([path, text]) => parseSource(path, text));
    const found = rules.flatMap((rule) => broken(rule, sources));
    expect(found.map((line, index) => line.slice(0, finds[index]?.length ?? 0))).toEqual(finds);
  });

  it('has a text for every rule', () => {
    const untried = RULES.filter(({ title }) => !TRIALS.some(({ rule }) => title.includes(rule)));
    expect(untried.map(({ title }) => title)).toEqual([]);
  });
});

describe('the sources', () => {
  const sources = readSources();

  it('exist', () => {
    expect(sources.length).toBeGreaterThan(100);
  });

  it.each(RULES)('$title', (rule) => {
    expect(broken(rule, sources)).toEqual([]);
  });
});

describe('folder targets', () => {
  it('every folder of src and test has a target', () => {
    const folders = ['src', 'test'].flatMap((root) =>
      readdirSync(root, { withFileTypes: true }).flatMap((entry) =>
        entry.isDirectory() && linesIn(`${root}/${entry.name}`) > 0 ? [`${root}/${entry.name}`] : [],
      ),
    );
    expect(folders.filter((folder) => !Object.hasOwn(FOLDER_TARGETS, folder))).toEqual([]);
  });

  it.each(Object.entries(FOLDER_TARGETS))('%s has at most its lines, and 5 %%', (folder, { most }) => {
    expect(linesIn(folder)).toBeLessThanOrEqual(Math.floor(most * 1.05));
  });
});

function linesIn(folder: string): number {
  const files = globSync(`${folder}/**/*.{ts,js,css}`);
  return files.reduce((sum, file) => sum + readFileSync(file, 'utf8').split('\n').length - 1, 0);
}
