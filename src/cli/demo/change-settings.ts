// Changes settings files of the demo in place, so that comments and everything else that the user wrote stay.
import { readFile, writeFile } from 'node:fs/promises';
import { parseYaml } from '../../catalog/yaml.ts';
import { isMap, type JsonMap } from '../../model/json.ts';
import { editYaml } from '../../yaml-edit/edit-yaml.ts';
import { CommandFailure } from '../command-failure.ts';

/**
 * Rewrites a settings file so that it holds what `change` returns for its present content. Throws CommandFailure where the
 * file is written in a way that cannot be edited.
 */
export async function changeSettings(file: string, change: (written: JsonMap) => JsonMap): Promise<void> {
  const text = await readFile(file, 'utf8');
  const document = parseYaml(file, text);
  const wanted = change(isMap(document.value) ? document.value : {});
  const edited = editYaml({ text, document }, wanted, (changed) => parseYaml(file, changed));
  if (!edited.ok) {
    throw new CommandFailure(`a port is taken, and ${file} cannot be changed: ${edited.reason}; set the port by hand`);
  }
  await writeFile(file, edited.file.text);
}
