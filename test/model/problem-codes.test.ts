// Runs every example of the table of problem codes: the wrong one gives its code, the right one does not.
import { describe, expect, it, test } from 'vitest';
import table from '../../schemas/problem-codes.json' with { type: 'json' };
import { wantsBlob } from '../../src/catalog/load-catalog.ts';
import {
  CODE_GROUPS,
  type CodeEntry,
  type ExampleFiles,
  isRunExample,
  PROBLEM_CODES,
  type RunExample,
} from '../../src/cli/validate/problem-codes.ts';
import { type Derivation, derive } from '../../src/derive.ts';
import { problemsAndRemarks } from '../../src/desired/remarks.ts';
import type { Problem } from '../../src/model/problem.ts';
import { linkTo, snapshotOf } from '../catalog/snapshots.ts';
import { deletionFacts } from '../desired/facts.ts';
import { TextRepository } from '../support/text-repository.ts';

/** Codes that an example cannot bring about without another one: the other instance or object is wrong too. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  dependency_waits: ['unknown_template'],
  hand_over_waits: ['unknown_object'],
  more_problems: ['wrong_type'],
};

/** Codes whose examples are told in words, and where the code is tested. */
const TOLD: Readonly<Record<string, string>> = {
  internal_error: 'test/desired/admit.test.ts',
  needs_rebase: 'test/cli/plan/read-merge.test.ts',
  no_room: 'test/desired/store-capacity.test.ts',
  not_utf8: 'test/catalog/yaml.test.ts',
  too_many_bytes: 'test/catalog/load-catalog.test.ts',
  too_many_files: 'test/catalog/load-catalog.test.ts',
  unreadable_commit: 'test/follow/commits-at-once.test.ts',
};

/** The texts that examples only hint at, as they are too long to print. */
const LONG_TEXTS: Readonly<Record<string, () => string>> = {
  file_too_large: () => `logo: ${'x'.repeat(1024 * 1024)}\n`,
  more_problems: () => Array.from({ length: 102 }, (_, index) => `k${index}: {}\n`).join(''),
  stack_too_large: () => `resources:\n${['a', 'b', 'c', 'd', 'e', 'f'].map(largeGroup).join('')}`,
  value_too_large: () => `logo: ${'x'.repeat(65_537)}\n`,
  yaml_depth: () => `a: ${'['.repeat(65)}${']'.repeat(65)}\n`,
  yaml_values: () => `blocked: [${Array.from({ length: 60_000 }, () => 'b').join(', ')}]\n`,
};

function largeGroup(key: string): string {
  return `  ${key}:\n    type: Platform::ResourceGroup\n    properties: { count: "10000", resource_def: { properties: { role: database } } }\n`;
}

function readText(code: string, file: ExampleFiles[string]): string | null {
  if (file === null) return null;
  if ('linkTo' in file) return linkTo(file.linkTo);
  if (!('shown' in file)) return joinLines(file);
  return LONG_TEXTS[code]?.() ?? expect.fail(`LONG_TEXTS has no text for ${code}`);
}

function joinLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

function readTexts(code: string, files: ExampleFiles = {}): Readonly<Record<string, string | null>> {
  return Object.fromEntries(Object.entries(files).map(([path, file]) => [path, readText(code, file)]));
}

const REPOSITORY = Object.fromEntries(
  Object.entries(table.repository).map(([path, lines]) => [path, joinLines(lines)]),
);

function problemsOf(derivation: Derivation): readonly Problem[] {
  return derivation.isFollowed ? problemsAndRemarks(derivation.desired) : derivation.problems;
}

/** Returns the problems of the example repository with these files: of a first commit, or after the commit `before`. */
function problemsWith(code: string, { before, beside }: RunExample, files: ExampleFiles): readonly Problem[] {
  const changes = { ...readTexts(code, beside), ...readTexts(code, files) };
  if (before !== undefined) {
    const repository = new TextRepository();
    repository.commit({ ...REPOSITORY, ...readTexts(code, before) });
    const safety = { deletions: deletionFacts({}), unprotected: new Set<string>() };
    return problemsOf(repository.try(changes, { safety }));
  }
  const texts = Object.entries({ ...REPOSITORY, ...changes }).filter(
    (entry): entry is [string, string] => entry[1] !== null,
  );
  return problemsOf(derive(snapshotOf(Object.fromEntries(texts), { wants: wantsBlob() })));
}

function codesOf(problems: readonly Problem[]): readonly string[] {
  return [...new Set(problems.map(({ code }) => code))].sort();
}

test('the repository of the examples has no problem', () => {
  expect(problemsWith('', { wrong: {}, right: {} }, {})).toEqual([]);
});

describe.each(Object.entries<CodeEntry>(PROBLEM_CODES))('%s', (code, { severity, example }) => {
  if (!isRunExample(example)) {
    it('has an explanation in words', () => {
      expect(code in TOLD || code in table.groups.settings.codes).toBe(true);
    });
    return;
  }

  it('is the only problem of its wrong example', () => {
    const problems = problemsWith(code, example, example.wrong);
    expect(codesOf(problems)).toEqual([code, ...(BESIDE[code] ?? [])].sort());
    const severities = new Set(problems.filter((problem) => problem.code === code).map((problem) => problem.severity));
    if (severity !== 'either') expect([...severities]).toEqual([severity]);
  });

  it('and no other problem is in its right example', () => {
    expect(problemsWith(code, example, example.right)).toEqual([]);
  });
});

test('a code is in one group, and its texts are sentences without a full stop', () => {
  const codes = CODE_GROUPS.flatMap((group) => Object.keys(group.codes));
  expect(codes.length).toBe(new Set(codes).size);
  expect(codes.toSorted()).toEqual(Object.keys(PROBLEM_CODES).sort());
  const texts = Object.values(PROBLEM_CODES).flatMap(({ meaning, remedy }) => [meaning, remedy]);
  expect(texts.filter((text) => /\.$|\n|^\s/.test(text))).toEqual([]);
});
