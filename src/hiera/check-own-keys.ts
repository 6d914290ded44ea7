// Checks the keys that a stack's server sets itself, in its properties and in its clientcert file. The catalog checks
// what applies to every file.
import { type ProblemText, problemAt } from '../model/entry.ts';
import type { ExpandedServer } from '../model/expanded.ts';
import { recordKeyFault, SELECTORS } from '../model/keys.ts';
import type { Problem } from '../model/problem.ts';
import { withForeignCharacter } from '../model/quote.ts';
import { problemInLayer } from './layers.ts';
import type { Layer } from './node.ts';

/** Fields of a record that no property can set, although they may be meant for the provider. */
const UNSEEN: ReadonlySet<string> = new Set(['type', 'tenant']);

/** Returns an error for each property whose name can be no key of a record, a warning for each that is not shown in it. */
export function checkProperties(server: ExpandedServer): readonly Problem[] {
  return Object.keys(server.properties).flatMap((property) => {
    const text = propertyProblem(property);
    if (text === undefined) return [];
    const { entry, pointer } = server.originOf(property);
    return [problemAt(entry, pointer, { ...text, part: 'key' })];
  });
}

/** Returns an error for each selector in the clientcert file of a stack's server: there it would select nothing. */
export function checkClientcert(clientcert: Layer, server: ExpandedServer): readonly Problem[] {
  const selectors = Object.keys(clientcert.values).filter((key) => SELECTORS.has(key));
  return selectors.map((key) =>
    problemInLayer(clientcert, key, {
      code: 'selector_in_layer',
      part: 'key',
      message: `"${key}" selects a layer, and only the properties of a stack's server do so: "${server.name}" is made by "${server.instance}"`,
      hint: `set "${key}" in the properties of the server, by the template or the instance, and remove it here`,
    }),
  );
}

function propertyProblem(property: string): ProblemText | undefined {
  const fault = recordKeyFault(property);
  if (fault !== undefined) {
    const message = `the property "${property}"${withForeignCharacter(property)} ${fault}, so it can be no key of a record`;
    return { code: 'bad_key', message, hint: 'rename it' };
  }
  if (!UNSEEN.has(property)) return undefined;
  const message = `the property "${property}" is in no record: there "${property}" describes an object`;
  return { code: 'unseen_key', severity: 'warning', message, hint: 'rename it if configuration needs it' };
}
