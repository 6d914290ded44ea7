// Edits a text as the writers of files do: with the parser that reads all files.
import { parseYaml } from '../../src/catalog/yaml.ts';
import type { JsonMap } from '../../src/model/json.ts';
import { editYaml } from '../../src/yaml-edit/edit-yaml.ts';

type EditedText = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly reason: string };

/** Returns the text after the edit, or why it cannot be edited. */
export function editText(text: string, wanted: JsonMap): EditedText {
  const parse = (one: string) => parseYaml('', one);
  const edited = editYaml({ text, document: parse(text) }, wanted, parse);
  return edited.ok ? { ok: true, text: edited.file.text } : edited;
}
