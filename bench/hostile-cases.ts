// Defines commits that harm the process that follows, as a person who may push could make them: each case as files.
import { randomFillSync } from 'node:crypto';
import type { FileChanges } from '../test/support/git-repository.ts';

export interface HostileCase {
  readonly name: string;
  readonly title: string;
  /** Added to a desired state that is right; made when its turn comes, for it may be large. */
  files(): FileChanges;
  /** How many commits come before it in the same push, and how long the message of each is. */
  readonly history?: { readonly count: number; readonly messageBytes: number };
}

const MIB = 2 ** 20;
/** Less a little, for what stands around the content: a larger file is not read at all. */
const YAML_BYTES = MIB - 1000;
const WILDCARDS = 40;

export const CASES: readonly HostileCase[] = [
  { name: 'nothing', title: 'an honest commit', files: () => ({ 'notes/a': 'a' }) },
  {
    name: 'blob',
    title: '300 MB that do not compress',
    files: () => ({ 'images/noise': randomFillSync(Buffer.alloc(300 * MIB)) }),
  },
  {
    name: 'zeros',
    title: '1 GB of zeros',
    files: () => ({ 'types/common/zeros.yaml': Buffer.alloc(1024 * MIB) }),
  },
  { name: 'files', title: '100,000 files of the layout', files: () => numbered(100_000, 'types/role/d', 'port: ') },
  { name: 'blobs', title: '200,000 files elsewhere', files: () => numbered(200_000, 'notes/d', 'n: ') },
  {
    name: 'depth',
    title: 'directories, 5,000 deep',
    files: () => ({ [`types/role/${'d/'.repeat(5_000)}a.yaml`]: 'port: 1\n' }),
  },
  {
    name: 'pattern',
    title: 'patterns that backtrack',
    files: () => ({
      'hierarchy.yaml': `secrets:\n  keys: ["${'.*'.repeat(WILDCARDS)}Z", "_password$"]\n  reference: "^kv/.*/.*/.*#$"\n`,
      'types/common/global.yaml': `db_password: kv/${'/'.repeat(3_000)}\n${'k'.repeat(200)}: 1\n`,
    }),
  },
  {
    name: 'blanks',
    title: 'texts of blanks where a pattern looks for something',
    files: () => ({
      'types/role/blanks.yaml': `a: ${' '.repeat(YAML_BYTES / 2)}: ${' '.repeat(YAML_BYTES / 2)}:\n`,
      'stacks/templates/blanks.yaml': `resources:\n  r:\n    type: vm\n    properties:\n${Array.from({ length: 15 }, (_, i) => `      p${i}: "<<${' '.repeat(65_000)}"\n`).join('')}`,
    }),
  },
  {
    name: 'messages',
    title: '20 commits with messages of 16 MB',
    files: () => ({ 'notes/a': 'a' }),
    history: { count: 20, messageBytes: 16 * MIB },
  },
  {
    name: 'commits',
    title: '20,000 commits',
    files: () => ({ 'notes/a': 'a' }),
    history: { count: 20_000, messageBytes: 2_000 },
  },
  {
    name: 'paths',
    title: '3,000 files in a directory whose name has 60 KB',
    files: () => Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`notes/${'d'.repeat(60_000)}/f${i}`, 'x'])),
  },
  {
    name: 'yaml-list',
    title: 'a megabyte of YAML, a list',
    files: () => yaml((size) => `a: [${'1,'.repeat(size / 2)}1]\n`),
  },
  {
    name: 'yaml-allowed',
    title: 'a list as long as is allowed',
    files: () => yaml(() => `a: [${'1,'.repeat(49_000)}1]\n`),
  },
  {
    name: 'yaml-keys',
    title: 'a megabyte of YAML, keys',
    files: () => yaml((size) => Array.from({ length: size / 12 }, (_, i) => `k${i}: 1\n`).join('')),
  },
  {
    name: 'yaml-depth',
    title: 'a megabyte of YAML, nested',
    files: () => yaml((size) => `a: ${'['.repeat(size / 2)}${']'.repeat(size / 2)}\n`),
  },
  {
    name: 'yaml-files',
    title: 'fifty times a megabyte of YAML',
    files: () =>
      Object.fromEntries(
        Array.from({ length: 50 }, (_, i) => [`types/role/r${i}.yaml`, `n: ${i}\na: "${'x'.repeat(YAML_BYTES)}"\n`]),
      ),
  },
];

function numbered(count: number, folder: string, text: string): FileChanges {
  return Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`${folder}${Math.floor(i / 1000)}-f${i}.yaml`, `${text}${i}\n`]),
  );
}

function yaml(make: (bytes: number) => string): FileChanges {
  return { 'types/role/large.yaml': make(YAML_BYTES) };
}
