// Detects a commit that removes everything of a kind. This is more likely an accident than an intention, so the commit
// is held.
import type { Catalog } from '../catalog/catalog.ts';
import type { Problem } from '../model/problem.ts';
import type { Baseline } from './desired-state.ts';

/** Returns the problem for which the commit is held, or undefined. docs/concepts.md, wrong commits. */
export function nothingLeft(catalog: Catalog, before: Baseline): Problem | undefined {
  const hadInstances = [...before.units.values()].some((unit) => unit.type === 'stack-instance');
  if (catalog.files.size === 0 && before.units.size > 0) return held('', 'no file of the layout');
  if (hadInstances && catalog.instances.size === 0) return held('stacks/instances', 'no stack instance');
  if (before.clients.size > 0 && catalog.clients.size === 0) return held('clients', 'no client');
  return undefined;
}

function held(file: string, what: string): Problem {
  return {
    code: 'nothing_left',
    severity: 'error',
    file,
    line: 1,
    column: 1,
    pointer: '',
    message: `${what} would be left after this commit, so it is held and everything stays as it is`,
    hint: 'revert the commit, bring one back, or let it happen: "treeline held" shows the command',
    instances: [],
  };
}
