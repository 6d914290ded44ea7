// Writes new files. For files that are there see edit-yaml.ts: these are never written anew.
import type { JsonMap } from '../model/json.ts';
import { blockLines, isEmpty, USUAL_INDENTS } from './write-value.ts';

/**
 * Returns the text of a new file: `modeline` (a whole comment line without its end) first, then the object in block style,
 * keys in the order given, with quotes where a text would read as something else. A text that no file may hold (NUL, half
 * of a surrogate pair) and a nesting that is too deep are written as they are; reading the file back reports them.
 */
export function writeYaml(object: JsonMap, modeline: string): string {
  const lines = isEmpty(object) ? ['{}'] : blockLines(object, 0, USUAL_INDENTS);
  return `${[modeline, ...lines].join('\n')}\n`;
}
