// What is wrong with a template whoever uses it.
import type { Entry } from '../model/entry.ts';
import type { StackTemplate } from '../model/objects.ts';
import { type Problem, sortProblems } from '../model/problem.ts';
import { templateAsWritten } from './amend-template.ts';
import { checkAmended } from './check-amended.ts';
import { readBlueprints } from './read-blueprints.ts';

/**
 * Returns the mistakes of a right file that need no instance to be seen. expandStack finds those that an amendment
 * leaves in place again, at the same places and in the same words, so that sortProblems joins the two.
 */
export function checkTemplate(template: Entry<StackTemplate> & { readonly object: StackTemplate }): readonly Problem[] {
  const amended = templateAsWritten(template);
  const { blueprints, problems } = readBlueprints(amended);
  return sortProblems([...problems, ...checkAmended(amended, blueprints)]);
}
