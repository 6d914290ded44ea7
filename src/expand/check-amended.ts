// Everything that can be wrong with an amended template before any value is known.
import type { Problem } from '../model/problem.ts';
import { type AmendedTemplate, problemIn } from './amend-template.ts';
import type { Blueprint } from './blueprint.ts';
import { checkDependencyCycles, checkValueCycles } from './check-cycles.ts';
import { checkPlaceholders } from './check-placeholders.ts';
import { groupFieldFault } from './group-fields.ts';
import { isLiteral, literalOf } from './placeholders.ts';
import { checkParameters } from './resolve-parameters.ts';

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
    const message = isLiteral(tokens) ? groupFieldFault(key, field, literalOf(tokens)) : undefined;
    return message === undefined ? [] : [problemIn(amended, pointer, { code: 'bad_group_property', message })];
  });
}

function checkName(amended: AmendedTemplate, { properties }: Blueprint): Problem[] {
  const name = properties.get('name');
  if (name === undefined) return [];
  const isArray = name.texts.some(({ tokens }) => tokens.length === 1 && tokens[0]?.kind === 'array');
  if (!name.isList && !isArray) return [];
  const message = 'name is a list; it must be one string';
  return [problemIn(amended, name.pointer, { code: 'bad_server_name', message, hint: 'a server has one name' })];
}
