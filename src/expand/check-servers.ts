// Checks the servers of a stack once their values are known: each has a valid, unique name, and `configuration_only`
// lists existing properties. desired/admission.ts refuses names that two stacks share.

import { didYouMean, quote, withForeignCharacter } from '../base/wording.ts';
import { problemAt } from '../model/entry.ts';
import { compareNames, nameFault } from '../model/names.ts';
import type { Problem } from '../model/problem.ts';
import { type AmendedTemplate, problemInTemplate } from './amend-template.ts';
import { pointerOf } from './blueprint.ts';
import type { ResourceValues, ServerValues, WrittenName } from './evaluate.ts';
import { MISTAKES_MAX } from './limits.ts';
import { blameOf, type StackInput } from './resolve-parameters.ts';

/** Returns at most two problems for each resource: its first invalid name, and its first repeated one. */
export function checkServerNames(resources: readonly ResourceValues[], input: StackInput): Problem[] {
  const holders = new Map<string, NameHolder>();
  return resources.flatMap((resource) => [
    ...invalidName(resource, input),
    ...repeatedName(resource, holders, input.amended),
  ]);
}

interface NameHolder {
  readonly name: string;
  readonly key: string;
}

function invalidName({ members: { blueprint }, servers }: ResourceValues, input: StackInput): Problem[] {
  for (const { name } of servers) {
    const fault = name === 'all' ? 'is kept for the list of all records' : nameFault(name);
    if (fault === undefined) continue;
    const { entry, pointer } = blameOf(blueprint, 'name', input);
    const message = `the server name ${quote(name)}${withForeignCharacter(name)} of "${blueprint.key}" ${fault}`;
    return [problemAt(entry, pointer, { code: 'bad_server_name', message })];
  }
  return [];
}

/** Adds the names to `holders`, and reports the first that equals an earlier one if case is ignored. */
function repeatedName(
  { members: { blueprint }, servers }: ResourceValues,
  holders: Map<string, NameHolder>,
  amended: AmendedTemplate,
): Problem[] {
  const { key } = blueprint;
  let clash: { readonly name: string; readonly holder: NameHolder } | undefined;
  for (const { name } of servers) {
    const folded = name.toLowerCase();
    const holder = holders.get(folded);
    if (holder === undefined) holders.set(folded, { name, key });
    else clash ??= { name, holder };
  }
  if (clash === undefined) return [];
  return [
    problemInTemplate(amended, pointerOf(blueprint, 'name'), {
      code: 'duplicate_server_name',
      ...clashText(key, clash),
    }),
  ];
}

function clashText(
  key: string,
  { name, holder }: { readonly name: string; readonly holder: NameHolder },
): { readonly message: string; readonly hint: string } {
  if (holder.key === key) {
    return { message: `several members of "${key}" are called "${name}"`, hint: 'put <<index>> into the name' };
  }
  const other = holder.name === name ? '' : ` as "${holder.name}", which differs in case only`;
  const message = `"${key}" makes the server "${name}", and "${holder.key}" makes it too${other}`;
  return { message, hint: 'give one of them another name' };
}

/** Returns the properties that `configuration_only` lists, sorted, without repeats and unknown names. */
export function configurationOnlyOf(server: ServerValues): readonly string[] {
  const known = propertyNames(server);
  const names = server.configurationOnly.map(({ name }) => name).filter((name) => known.has(name));
  return [...new Set(names)].sort(compareNames);
}

/** Returns a warning for each name in `configuration_only` that is not a property. Empty names are ignored. */
export function checkConfigurationOnly({ servers }: ResourceValues, amended: AmendedTemplate): Problem[] {
  const warnings = new Map<string, Problem>();
  for (const server of servers) {
    const known = propertyNames(server);
    for (const named of server.configurationOnly) {
      if (named.name === '' || known.has(named.name) || warnings.has(named.name)) continue;
      if (warnings.size < MISTAKES_MAX) warnings.set(named.name, noProperty(named, [...known], amended));
    }
  }
  return [...warnings.values()];
}

function propertyNames({ properties, reads = {} }: ServerValues): ReadonlySet<string> {
  return new Set([...Object.keys(properties), ...Object.keys(reads)]);
}

function noProperty({ name, text }: WrittenName, properties: readonly string[], amended: AmendedTemplate): Problem {
  return problemInTemplate(amended, text.pointer, {
    code: 'unknown_configuration_only',
    severity: 'warning',
    message: `configuration_only names ${quote(name)}, which is not a property here`,
    hint: didYouMean(name, properties) ?? 'remove it, or add the property',
  });
}
