// Warns of `yes` and `no` in configuration: YAML 1.2 reads a text where older readers read true or false. The values of
// templates and instances have to be texts, so these are not checked.
import { below } from '../model/entry.ts';
import type { JsonMap } from '../model/json.ts';
import { isPlainTypeName } from '../model/names.ts';
import type { Problem } from '../model/problem.ts';
import { problemFrom } from './fault.ts';
import type { YamlDocument } from './yaml.ts';

const MEANT: ReadonlyMap<string, string> = new Map([
  ['yes', 'true'],
  ['no', 'false'],
]);

/** Returns a warning for each value of a typed object that is one of these words without quotes. */
export function checkBooleanWords(
  { path, type }: { readonly path: string; readonly type: string },
  document: YamlDocument,
  written: JsonMap,
): readonly Problem[] {
  if (!isPlainTypeName(type)) return [];
  return Object.entries(written).flatMap(([key, value]) => {
    const meant = typeof value === 'string' ? MEANT.get(value.toLowerCase()) : undefined;
    const pointer = below('', key);
    if (meant === undefined || document.writtenAt(pointer) === null) return [];
    const fault = {
      code: 'boolean_spelling',
      severity: 'warning',
      message: `${value} is read as the text "${value}"`,
      hint: `write ${meant}, or put it in quotes if the text is meant: "${value}"`,
    } as const;
    return [problemFrom(fault, { ...document.locate(pointer), file: path, pointer })];
  });
}
