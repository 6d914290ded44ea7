// Reads which properties of a server start no action when they change.
import { compareNames } from '../model/names.ts';
import type { Problem } from '../model/problem.ts';
import { quote } from '../model/quote.ts';
import { didYouMean } from '../model/suggest.ts';
import { type AmendedTemplate, problemInTemplate } from './amend-template.ts';
import type { ResourceValues, ServerValues, WrittenName } from './compute-values.ts';
import { MISTAKES_MAX } from './limits.ts';

/** Returns the names of properties that `configuration_only` names, sorted, without repeats and what is no property. */
export function configurationOnlyOf({ configurationOnly, properties }: ServerValues): readonly string[] {
  const names = configurationOnly.map(({ name }) => name).filter((name) => Object.hasOwn(properties, name));
  return [...new Set(names)].sort(compareNames);
}

/** Returns a warning for each name in `configuration_only` that is no property. An empty name names nothing. */
export function checkConfigurationOnly({ servers }: ResourceValues, amended: AmendedTemplate): Problem[] {
  const warnings = new Map<string, Problem>();
  for (const { configurationOnly, properties } of servers) {
    for (const named of configurationOnly) {
      if (named.name === '' || Object.hasOwn(properties, named.name) || warnings.has(named.name)) continue;
      if (warnings.size < MISTAKES_MAX) warnings.set(named.name, noProperty(named, Object.keys(properties), amended));
    }
  }
  return [...warnings.values()];
}

function noProperty({ name, pointer }: WrittenName, properties: readonly string[], amended: AmendedTemplate): Problem {
  return problemInTemplate(amended, pointer, {
    code: 'unknown_configuration_only',
    severity: 'warning',
    message: `configuration_only names ${quote(name)}, which is no property here`,
    hint: didYouMean(name, properties) ?? 'remove it, or add the property',
  });
}
