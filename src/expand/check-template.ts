// Finds what is wrong with a template before any value is known: alone, or as an instance amends it.
import type { Entry } from '../model/entry.ts';
import type { StackTemplate } from '../model/objects.ts';
import { type Problem, sortProblems } from '../model/problem.ts';
import { type AmendedTemplate, problemInTemplate, templateAsWritten } from './amend-template.ts';
import type { Blueprint } from './blueprint.ts';
import { checkDependencyCycles, checkValueCycles } from './check-cycles.ts';
import { checkPlaceholders } from './check-placeholders.ts';
import { groupFieldFault } from './group-fields.ts';
import { isLiteral, literalOf } from './placeholders.ts';
import { readBlueprints } from './read-blueprints.ts';
import { checkParameters } from './resolve-parameters.ts';

/**
 * Returns the mistakes of a right file that need no instance to be seen. expandStack finds those that an amendment
 * leaves in place again, at the same places and in the same words, so that sortProblems joins the two.
 */
export function checkTemplate(template: Entry<StackTemplate> & { readonly object: StackTemplate }): readonly Problem[] {
  const amended = templateAsWritten(template);
  const { blueprints, problems } = readBlueprints(amended);
  return sortProblems([...problems, ...checkAmended(amended, blueprints)]);
}

/** Returns the mistakes in parameters, placeholders, groups, names, and what goes in a circle. */
export function checkAmended(amended: AmendedTemplate, blueprints: readonly Blueprint[]): Problem[] {
  return [
    ...checkParameters(amended),
    ...checkPlaceholders(amended, blueprints),
    ...blueprints.flatMap((blueprint) => checkGroup(amended, blueprint)),
    ...blueprints.flatMap((blueprint) => checkName(amended, blueprint)),
    ...checkValueCycles(amended, blueprints),
    ...checkDependencyCycles(amended, blueprints),
  ];
}

function checkGroup(amended: AmendedTemplate, { key, group }: Blueprint): Problem[] {
  return [...(group ?? [])].flatMap(([field, { tokens, pointer }]) => {
    // With a placeholder in it the value is known only together with an instance; see group-members.ts.
    const fault = isLiteral(tokens) ? groupFieldFault(key, field, literalOf(tokens)) : undefined;
    return fault === undefined ? [] : [problemInTemplate(amended, pointer, fault)];
  });
}

function checkName(amended: AmendedTemplate, { properties }: Blueprint): Problem[] {
  const name = properties.get('name');
  if (name === undefined) return [];
  const isArray = name.texts.some(({ tokens }) => tokens.length === 1 && tokens[0]?.kind === 'array');
  if (!name.isList && !isArray) return [];
  const message = 'name is a list; it must be one string';
  return [
    problemInTemplate(amended, name.pointer, { code: 'bad_server_name', message, hint: 'a server has one name' }),
  ];
}
