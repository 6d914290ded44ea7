// Tells which object a path that is not read was meant to be: another spelling of the extension, blanks in the name, a
// folder in another case, a hidden or backup copy. paths.ts classifies the paths that are read.
import { isPlainTypeName } from '../model/names.ts';
import { canonicalSerial } from '../model/serial.ts';
import type { FileType } from './catalog.ts';
import { FOLDERS } from './paths.ts';

/** `<type>/<name>`; `tree/tree` and `hierarchy/hierarchy` for those two. */
export type Address = `${FileType}/${string}`;

/** `global.yaml`, and the names under which it is hidden or kept: `.global.yaml`, `global.yaml~`, `global.yaml.bak`. */
const FILE_NAME = /^\.?([^.].*?)\.ya?ml(?:~|\.bak)?$/i;
/** One slip in `.yaml`: a letter or digit too many, one missing, another one, or two in each other's place; and `.yml` with one too many. */
const SLIP =
  /^\.?([^.].*?)\.(?:[a-z0-9]yaml|y[a-z0-9]aml|ya[a-z0-9]ml|yam[a-z0-9]l|yaml[a-z0-9]|yml[a-z0-9]|aml|yal|yam|[a-z0-9]aml|y[a-z0-9]ml|ya[a-z0-9]l|yam[a-z0-9]|ayml|ymal|yalm)$/i;
const COPY_NAME = /(?:^|\/)\s*\.[^/]*$|(?:~|\.bak)\s*$/i;

/** Invisible characters of a name: blanks and format characters. */
const UNSEEN = /[\s\p{Cf}]/gu;

/** Returns the address of the object that a file, link or folder at a path is meant to be, or undefined. */
function addressMeant(path: string): Address | undefined {
  const steps = withoutUnseen(path).split('/');
  // No object's name begins with a dot.
  const base = steps.pop() ?? '';
  const stem = (FILE_NAME.exec(base) ?? SLIP.exec(base))?.[1];
  if (stem === undefined) return undefined;
  const type = typeMeant(steps.map((step) => step.toLowerCase()));
  if (type === 'client') return `client/${canonicalSerial(stem) ?? stem}`;
  if (type !== undefined) return `${type}/${stem}`;
  const root = stem.toLowerCase();
  return steps.length === 0 && (root === 'tree' || root === 'hierarchy') ? `${root}/${root}` : undefined;
}

/** Returns a path without the characters that nobody sees in it. */
export function withoutUnseen(path: string): string {
  return path.replaceAll(UNSEEN, '');
}

/** Returns true for the name of a hidden or backup copy: such a copy stands for the object only in the folder where that was. */
export function isCopy(path: string): boolean {
  return COPY_NAME.test(path);
}

function typeMeant(steps: readonly string[]): FileType | undefined {
  const folder = steps.join('/');
  const [, type] = FOLDERS.find(([known]) => folder === known || folder.startsWith(`${known}/`)) ?? [];
  if (type !== undefined) return type;
  const [first, second = ''] = steps;
  return first === 'types' && isPlainTypeName(second) ? second : undefined;
}

/** Returns true for a path in or beside the layout that may stand for an object of it, or for a folder of them. */
export function isNearLayout(path: string): boolean {
  const first = withoutUnseen(path.split('/', 1)[0] ?? '').toLowerCase();
  return (
    first === 'types' ||
    first === 'stacks' ||
    first === 'clients' ||
    /^\.?(?:tree|hierarchy)\.ya?ml(?:~|\.bak)?$/.test(first)
  );
}

/** Yields the addresses that a path is meant to be: its own, and those of the folders that it lies in. */
export function* addressesAt(path: string): Generator<readonly [address: Address, place: string]> {
  const own = addressMeant(path);
  if (own !== undefined) yield [own, path];
  if (!/\.ya?ml\s*\//i.test(path)) return;
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
    const folder = path.slice(0, at);
    const address = addressMeant(folder);
    if (address !== undefined) yield [address, folder];
  }
}
