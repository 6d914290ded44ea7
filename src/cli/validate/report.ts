// Defines the result of a validation, which every format of `treeline validate` is made from.
import { createHash } from 'node:crypto';
import { countOf } from '../../model/count-words.ts';
import { isError, type Problem } from '../../model/problem.ts';

/** The result of a validation. */
export interface Report {
  /** The number of files in the layout. */
  readonly files: number;
  /** Sorted. */
  readonly problems: readonly Problem[];
  /** The path from the root of the Git repository to the layout: '' or one that ends in `/`. */
  readonly prefix: string;
  /** Returns the lines of a file that was read, without their ends; undefined of any other. */
  readonly linesOf: (file: string) => readonly string[] | undefined;
}

/** The problems that a program reads are about a file; those of the whole layout are told at this one. */
const LAYOUT_FILE = 'tree.yaml';

/** Returns the path of a problem's file or folder from the root of the Git repository. */
export function pathInRepository({ prefix }: Report, { file }: Problem): string {
  return `${prefix}${file === '' || file === '.' ? LAYOUT_FILE : file}`;
}

/** Returns the number of files, errors and warnings in words. */
export function summaryOf({ files, problems }: Report): string {
  const errors = problems.filter(isError).length;
  const counts = [countOf(files, 'file'), countOf(errors, 'error'), countOf(problems.length - errors, 'warning')];
  return counts.join(', ');
}

/** The number of instances that {@link detailsOf} names. */
const NAMED_MAX = 5;

/** Returns the message of a problem, its hint, and the instances that it stops, one a line. */
export function detailsOf({ message, hint, instances = [] }: Problem): string {
  const more = instances.length > NAMED_MAX ? ` and ${instances.length - NAMED_MAX} more` : '';
  return [
    message,
    ...(hint === null ? [] : [`hint: ${hint}`]),
    ...(instances.length === 0 ? [] : [`stops: ${instances.slice(0, NAMED_MAX).join(', ')}${more}`]),
  ].join('\n');
}

/**
 * Returns an identifier for each problem, in their order: of the code, the file and the pointer, so that it stays the
 * same while other lines of the file, or the words of messages, change. All of a report are different.
 */
export function fingerprintsOf(report: Report): readonly string[] {
  const counts = new Map<string, number>();
  return report.problems.map((problem) => {
    const key = JSON.stringify([problem.code, pathInRepository(report, problem), problem.pointer]);
    const count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    return createHash('sha256').update(`${key}${count}`).digest('hex');
  });
}
