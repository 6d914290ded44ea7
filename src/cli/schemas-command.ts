// `treeline schemas`: copies the schemas for editors to the path in the modelines of a stacks repository.
import { cp, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { productPath } from '../base/product-files.ts';
import { countOf } from '../base/wording.ts';
import { print } from './output.ts';
import { fromUserDirectory, requireFolder } from './user-directory.ts';

/**
 * Schemas of the operator's files, which do not belong into a stacks repository.
 */
const NOT_FOR_REPOSITORIES = ['settings.schema.json', 'proxy-settings.schema.json', 'render-settings.schema.json'];

/** Adds the command. */
export function addSchemasCommand(program: Command): void {
  program
    .command('schemas')
    .description('write JSON Schemas for editors into schemas/')
    .argument('[directory]', 'the directory of the layout', '.')
    .action(async (directory: string) => {
      const folder = fromUserDirectory(directory);
      await requireFolder(folder);
      const target = join(folder, 'schemas');
      const count = await writeSchemas(target);
      print(`wrote ${countOf(count, 'schema')} to ${target}`);
    });
}

/** Copies every schema of the layout into a folder, created if missing. Resolves with their number. */
export async function writeSchemas(folder: string): Promise<number> {
  await mkdir(folder, { recursive: true });
  const names = (await readdir(productPath('schemas'))).filter(
    (name) => name.endsWith('.schema.json') && !NOT_FOR_REPOSITORIES.includes(name),
  );
  for (const name of names) await cp(productPath('schemas', name), join(folder, name));
  return names.length;
}
