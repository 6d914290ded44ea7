// Judges whether a commit adds something that may be meant to take over servers: an instance that is invalid so that its
// servers cannot be determined, or a file that is not read. ARCHITECTURE.md, "Unreadable files".
import { fileStateOf, isSameFile } from './edit-files.ts';
import { INSTANCES_FOLDER, type ModelFile, type ModelFiles, pathOf } from './stacks.ts';
import { INSTANCES } from './themes/theme.ts';

/** Returns true if there is one for certain for the servers of an instance. */
export function hasNewReceiver(files: ModelFiles, before: ModelFiles, owner: string): boolean {
  if (INSTANCES.some((instance) => isNewlyWrong(instance, files, before))) return true;
  return fileStateOf(files, owner) === 'absent' && hasNewUnread(files, before);
}

/** The same wrong version counts once. */
function isNewlyWrong(instance: string, files: ModelFiles, before: ModelFiles): boolean {
  const wrong = wrongFile(files, instance);
  return wrong !== undefined && wrong.oid !== wrongFile(before, instance)?.oid;
}

/** What is wrong for certain, whatever else the commit has. */
function wrongFile(files: ModelFiles, instance: string): ModelFile | undefined {
  const file = files.get(pathOf(instance));
  const isRead = file?.shape !== undefined && file.mode === '100644';
  return isRead && file.shape.template !== 'stack' ? file : undefined;
}

function hasNewUnread(files: ModelFiles, before: ModelFiles): boolean {
  return unreadIn(files).some((path) => !isSameFile(files.get(path), before.get(path)));
}

/** Returns the paths below the instances' folder that are not read. */
export function unreadIn(files: ModelFiles): readonly string[] {
  const isUnread = (path: string): boolean => path.startsWith(INSTANCES_FOLDER) && files.get(path)?.shape === undefined;
  return [...files.keys()].filter(isUnread);
}
