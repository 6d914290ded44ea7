// Groups objects by name, and reports names that two files share.
import { type Entry, problemAt } from '../model/entry.ts';
import type { PlainTypeName } from '../model/names.ts';
import type { Client, Hierarchy, StackInstance, StackTemplate, TreeNode, TypedObject } from '../model/objects.ts';
import type { Problem } from '../model/problem.ts';
import type { Catalog, FileEntry, FileType } from './catalog.ts';

/** The object of a file, by its type. */
interface ObjectByType extends Readonly<Record<PlainTypeName, TypedObject>> {
  readonly tree: TreeNode;
  readonly hierarchy: Hierarchy;
  readonly 'stack-template': StackTemplate;
  readonly 'stack-instance': StackInstance;
  readonly client: Client;
}

/** Returns whether a file is of a type, which also gives the type of its object. */
export function isOfType<Type extends FileType>(
  entry: FileEntry,
  type: Type,
): entry is FileEntry & Entry<ObjectByType[Type]> {
  return entry.type === type;
}

interface NamedEntries extends Pick<Catalog, 'templates' | 'instances' | 'clients' | 'objects'> {
  /** One for every file that shares its name with another. */
  readonly problems: readonly Problem[];
}

/** Returns the entries by name. If files share a name, the entry of the first path is returned, with an error. */
export function nameEntries(files: Iterable<FileEntry>): NamedEntries {
  const templates = new Map<string, Entry<StackTemplate>>();
  const instances = new Map<string, Entry<StackInstance>>();
  const clients = new Map<string, Entry<Client>>();
  const objects = new Map<string, Entry<TypedObject>>();
  const problems: Problem[] = [];
  const groups = Map.groupBy(files, ({ type, name }) => `${type}/${name}`);
  for (const entry of [...groups.values()].flatMap((group) => markShared(group, problems).slice(0, 1))) {
    if (isOfType(entry, 'stack-template')) templates.set(entry.name, entry);
    else if (isOfType(entry, 'stack-instance')) instances.set(entry.name, entry);
    else if (isOfType(entry, 'client')) clients.set(entry.name, entry);
    else if (isTyped(entry)) objects.set(`${entry.type}/${entry.name}`, entry);
  }
  return { templates, instances, clients, objects, problems };
}

function isTyped(entry: FileEntry): entry is FileEntry & Entry<TypedObject> {
  return entry.type !== null && entry.type !== 'tree' && entry.type !== 'hierarchy';
}

/**
 * Returns the entries of files that share a name, each with the problem. A file with a name of its own is unchanged.
 */
function markShared(sharing: readonly FileEntry[], problems: Problem[]): readonly FileEntry[] {
  const [first, second] = sharing;
  if (first === undefined || second === undefined || first.type === null) return sharing;
  const more = sharing.length === 2 ? '' : ` and ${sharing.length - 2} more`;
  return sharing.map((entry) => {
    const problem = problemAt(entry, '', {
      code: 'duplicate_name',
      message: `the ${entry.type} "${entry.name}" is defined in two files: ${first.path} and ${second.path}${more}`,
      hint: 'remove or rename all but one',
    });
    problems.push(problem);
    return { ...entry, problems: [...entry.problems, problem] };
  });
}
