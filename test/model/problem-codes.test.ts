// Runs every example of the table of problem codes: the wrong one gives its code, the right one does not.
import { describe, expect, it, test } from 'vitest';
import { wantsBlob } from '../../src/catalog/load-catalog.ts';
import { type Derivation, derive } from '../../src/derive.ts';
import { problemsAndRemarks } from '../../src/desired/remarks.ts';
import type { Problem } from '../../src/model/problem.ts';
import {
  type CodeEntry,
  EXAMPLE_REPOSITORY,
  type ExampleFile,
  type ExampleFiles,
  isRunExample,
  type RunExample,
} from '../../src/model/problem-codes/code-entry.ts';
import { CODE_GROUPS, PROBLEM_CODES } from '../../src/model/problem-codes.ts';
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

const SETTINGS = new Set(Object.keys(CODE_GROUPS.at(-1)?.codes ?? {}));

function textOf(file: ExampleFile): string | null {
  if (file === null || typeof file === 'string') return file;
  return 'linkTo' in file ? linkTo(file.linkTo) : file.text();
}

function textsOf(files: ExampleFiles = {}): Readonly<Record<string, string | null>> {
  return Object.fromEntries(Object.entries(files).map(([path, file]) => [path, textOf(file)]));
}

function problemsOf(derivation: Derivation): readonly Problem[] {
  return derivation.isFollowed ? problemsAndRemarks(derivation.desired) : derivation.problems;
}

/** Returns the problems of the example repository with these files: of a first commit, or after the commit `before`. */
function problemsWith({ before, beside }: RunExample, files: ExampleFiles): readonly Problem[] {
  const changes = { ...textsOf(beside), ...textsOf(files) };
  if (before !== undefined) {
    const repository = new TextRepository();
    repository.commit({ ...EXAMPLE_REPOSITORY, ...textsOf(before) });
    const safety = { deletions: deletionFacts({}), unprotected: new Set<string>() };
    return problemsOf(repository.try(changes, { safety }));
  }
  const texts = Object.entries({ ...EXAMPLE_REPOSITORY, ...changes }).filter(
    (entry): entry is [string, string] => entry[1] !== null,
  );
  return problemsOf(derive(snapshotOf(Object.fromEntries(texts), { wants: wantsBlob() })));
}

function codesOf(problems: readonly Problem[]): readonly string[] {
  return [...new Set(problems.map(({ code }) => code))].sort();
}

test('the repository of the examples has no problem', () => {
  expect(problemsWith({ wrong: {}, right: {} }, {})).toEqual([]);
});

describe.each(Object.entries<CodeEntry>(PROBLEM_CODES))('%s', (code, { severity, example }) => {
  if (!isRunExample(example)) {
    it('is told in words, and tested elsewhere', () => {
      expect(code in TOLD || SETTINGS.has(code)).toBe(true);
    });
    return;
  }

  it('is what its wrong example gives, and nothing else', () => {
    const problems = problemsWith(example, example.wrong);
    expect(codesOf(problems)).toEqual([code, ...(BESIDE[code] ?? [])].sort());
    const severities = new Set(problems.filter((problem) => problem.code === code).map((problem) => problem.severity));
    if (severity !== 'either') expect([...severities]).toEqual([severity]);
  });

  it('is not what its right example gives, and neither is another code', () => {
    expect(problemsWith(example, example.right)).toEqual([]);
  });
});

test('a code stands in one group, and its texts are sentences without a full stop', () => {
  const codes = CODE_GROUPS.flatMap((group) => Object.keys(group.codes));
  expect(codes.length).toBe(new Set(codes).size);
  expect(codes.toSorted()).toEqual(Object.keys(PROBLEM_CODES).sort());
  const texts = Object.values(PROBLEM_CODES).flatMap(({ meaning, remedy }) => [meaning, remedy]);
  expect(texts.filter((text) => /\.$|\n|^\s/.test(text))).toEqual([]);
});
