// Judges whether a commit adds something that may be meant to take over servers: an instance that is invalid so that its
// servers cannot be determined, or a file that is not read. ARCHITECTURE.md, "Unreadable files".
import { fileStateOf, isPlaceOf, isSameFile, isWhole, strayOf } from './edit-files.ts';
import {
  INSTANCES_FOLDER,
  isValidShape,
  type ModelFile,
  type ModelFiles,
  outsideNeeds,
  pathOf,
  TEMPLATE,
} from './stacks.ts';
import { INSTANCES, SET_ASIDE } from './themes/theme.ts';

/** Returns true where there is one for certain. */
export function hasNewReceiver(files: ModelFiles, before: ModelFiles): boolean {
  if (INSTANCES.some((instance) => isNewlyWrong(instance, files, before))) return true;
  return changedStrays(files, before).length > 0;
}

/** Returns true where there may be one. */
export function mayHaveNewReceiver(files: ModelFiles, before: ModelFiles): boolean {
  if (!isWhole(files, TEMPLATE) || !isSameFile(files.get(TEMPLATE), before.get(TEMPLATE))) return true;
  const isUnread = (path: string): boolean => path.startsWith(INSTANCES_FOLDER) && files.get(path)?.shape === undefined;
  if ([...files.keys()].some((path) => isUnread(path) && !isSameFile(files.get(path), before.get(path)))) return true;
  return INSTANCES.some((instance) => {
    const shape = fileStateOf(files, instance);
    if (shape === 'absent') return false;
    const isCertain = typeof shape !== 'string' && isValidShape(shape) && outsideNeeds(shape).length === 0;
    const paths = [...files.keys(), ...before.keys()].filter((path) => isPlaceOf(path, instance));
    return !isCertain && paths.some((path) => !isSameFile(files.get(path), before.get(path)));
  });
}

/** The same wrong version counts once; so does a file that is not read, wherever it stands for the instance. */
function isNewlyWrong(instance: string, files: ModelFiles, before: ModelFiles): boolean {
  const wrong = wrongFile(files, instance);
  if (wrong === undefined || wrong.oid === wrongFile(before, instance)?.oid) return false;
  const stray = strayOf(files, instance);
  return stray === undefined || !isSameFile(stray.file, before.get(stray.path));
}

/** What is wrong for certain, whatever else the commit has. */
function wrongFile(files: ModelFiles, instance: string): ModelFile | undefined {
  const file = files.get(pathOf(instance));
  if (file?.shape !== undefined && file.mode === '100644') return file.shape.template === 'stack' ? undefined : file;
  return strayOf(files, instance)?.file;
}

/** New or changed files that stand for no instance that people know. */
function changedStrays(files: ModelFiles, before: ModelFiles): readonly string[] {
  return [...files.keys()].filter((path) => {
    const isStray = path.startsWith(INSTANCES_FOLDER) && !INSTANCES.some((instance) => isPlaceOf(path, instance));
    if (!isStray || isSameFile(files.get(path), before.get(path))) return false;
    return !path.endsWith(SET_ASIDE) || isReappearing(path, files, before);
  });
}

/** Whether an instance's file that is gone is there again at a new path: a name like this one says nothing by itself. */
function isReappearing(path: string, files: ModelFiles, before: ModelFiles): boolean {
  if (before.has(path)) return false;
  return INSTANCES.map(pathOf).some((own) => !files.has(own) && isSameFile(files.get(path), before.get(own)));
}
