// Entries for tests of the pure stages, read from YAML by the catalog itself, and problems in a form to compare.

import { invariant } from '../../src/base/invariant.ts';
import { isOfType } from '../../src/catalog/name-entries.ts';
import { parseEntry } from '../../src/catalog/parse-entry.ts';
import { type Entry, isValidEntry } from '../../src/model/entry.ts';
import type { StackInstance, StackTemplate } from '../../src/model/objects.ts';
import type { Problem } from '../../src/model/problem.ts';

export type Right<Value> = Entry<Value> & { readonly object: Value };

/** Returns the entry of a template whose file is right. */
export function templateEntry(text: string, name = 'web'): Right<StackTemplate> {
  const entry = parseEntry(`stacks/templates/${name}.yaml`, `oid of ${name}`, text);
  invariant(
    isOfType(entry, 'stack-template') && isValidEntry(entry),
    `wrong template: ${describeProblems(entry.problems)}`,
  );
  return entry;
}

/** Returns the entry of an instance whose file is right. */
export function instanceEntry(text: string, name = 'shop'): Right<StackInstance> {
  const entry = parseEntry(`stacks/instances/${name}.yaml`, `oid of ${name}`, text);
  invariant(
    isOfType(entry, 'stack-instance') && isValidEntry(entry),
    `wrong instance: ${describeProblems(entry.problems)}`,
  );
  return entry;
}

/** Returns each problem as one line: `web.yaml:3:5 code: message (hint) [instances]`; warnings begin with `warning`. */
export function describeProblems(problems: readonly Problem[]): string[] {
  return problems.map(({ severity, file, line, column, code, message, hint, instances }) => {
    const place = `${file.slice(file.lastIndexOf('/') + 1)}:${line}:${column}`;
    const start = severity === 'warning' ? 'warning ' : '';
    const end = instances === undefined ? '' : ` [${instances.join(', ')}]`;
    return `${start}${place} ${code}: ${message}${hint === null ? '' : ` (${hint})`}${end}`;
  });
}
