// The settings of `treeline render`, complete and with absolute paths. Loading checks them against
// schemas/render-settings.schema.json, finds programs and owners, and reports all mistakes together.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import schema from '../../../schemas/render-settings.schema.json' with { type: 'json' };
import { quote } from '../../base/wording.ts';
import { compileSchema } from '../../catalog/schemas.ts';
import type { Fault } from '../../model/entry.ts';
import type { LogLevel } from '../../model/settings.ts';
import { findProgram, programFault } from '../../settings/load-providers.ts';
import { readSettings } from '../../settings/load-settings.ts';
import { type PlacedFault, placedFault } from '../../settings/refuse-settings.ts';
import type { ProxyTlsFiles } from '../load-proxy-settings.ts';

/** The settings of `treeline render`. */
export interface RenderSettings {
  /** Address of the controller, without a trailing slash. */
  readonly server: string;
  /** Paths of PEM files. */
  readonly tls: ProxyTlsFiles;
  readonly node: string;
  readonly files: readonly RenderedFile[];
  /** The working directory of commands: the directory of the settings file. */
  readonly base: string;
  /** The directory of the kept record. */
  readonly directory: string;
  /** The interval of checking the files. */
  readonly checkSeconds: number;
  /** The time limit of one command. */
  readonly timeoutSeconds: number;
  readonly log: { readonly level: LogLevel };
}

/** One file that is rendered from a template. */
export interface RenderedFile extends ManagedPlace {
  readonly template: string;
  /** The command to run after a change of the file. */
  readonly run: Command | null;
}

/** A program and its arguments. */
export type Command = readonly [string, ...string[]];

/** The path, mode and owner of a file. */
export interface ManagedPlace {
  readonly path: string;
  /** The permission bits. */
  readonly mode: number;
  /** Null: the user of this process. */
  readonly owner: FileOwner | null;
}

/** The ids of a user and a group. */
type FileOwner = readonly [user: number, group: number];

/** The shape that the completed schema guarantees. */
interface Written extends ProxyTlsFiles, Omit<RenderSettings, 'tls' | 'files' | 'base'> {
  readonly files: readonly (Pick<RenderedFile, 'template' | 'path' | 'run'> & {
    readonly mode: string;
    readonly owner: string | null;
  })[];
}

const checkShape = compileSchema(schema);

/**
 * Returns the settings of a file, complete and with absolute paths. Throws SettingsError if the file cannot be read or
 * violates its schema, if it names a missing program or owner, or if only root may set its owner.
 */
export async function loadRenderSettings(
  file: string,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<RenderSettings> {
  const faults: PlacedFault[] = [];
  return await readSettings<Written, RenderSettings>(file, {
    schema,
    checkShape,
    async fillIn({ cert, key, ca, ...written }, { base }) {
      const place = { base, searchPath: environment.PATH };
      const files = await Promise.all(
        written.files.map((each, index) => fillInFile(each, `/files/${index}`, { place, faults })),
      );
      faults.push(...findTwice(files));
      return { ...written, server: written.server.replace(/\/+$/, ''), files, base, tls: { cert, key, ca } };
    },
    faultsOf: async () => faults,
  });
}

interface Filling {
  readonly place: Parameters<typeof findProgram>[1];
  /** Collects the faults. */
  readonly faults: PlacedFault[];
}

async function fillInFile(
  { template, path, mode, owner, run }: Written['files'][number],
  pointer: string,
  { place, faults }: Filling,
): Promise<RenderedFile> {
  const found = owner === null ? null : await findOwner(owner);
  if (found !== null && 'code' in found) faults.push(...placedFault(found, pointer, 'owner'));
  const program = run && (await findProgram(run[0], place));
  faults.push(...placedFault(await programFault(program ?? ''), pointer, 'run', 0));
  return {
    template,
    path,
    mode: Number.parseInt(mode, 8),
    owner: found === null || 'code' in found ? null : found,
    run: run && [program ?? '', ...run.slice(1)],
  };
}

function findTwice(files: readonly RenderedFile[]): readonly PlacedFault[] {
  return files.flatMap(({ path }, index) => {
    const isTwice = files.slice(0, index).some((other) => other.path === path);
    const message = `another template already writes ${path}`;
    const fault: Fault = { code: 'duplicate_file', message, hint: 'name another file' };
    return placedFault(isTwice ? fault : undefined, `/files/${index}`, 'path');
  });
}

/** Resolves with the ids of `user` or `user:group`, or with the fault. */
async function findOwner(text: string): Promise<FileOwner | Fault> {
  const [name = '', groupName] = text.split(':');
  const [user, ownGroup] = await findIds('passwd', name);
  const group = groupName === undefined ? ownGroup : (await findIds('group', groupName))[0];
  const code = 'wrong_value';
  if (user === undefined) return { code, message: `there is no user ${quote(name)}`, hint: 'create it first' };
  if (group === undefined) {
    const message = groupName === undefined ? `${name} has no group` : `there is no group ${quote(groupName)}`;
    return { code, message, hint: 'write USER:GROUP, with an existing group' };
  }
  const isOwn = user === process.geteuid?.() && (process.getgroups?.() ?? []).includes(group);
  if (isOwn || process.geteuid?.() === 0) return [user, group];
  const message = 'only root may give a file to another owner';
  return { code, message, hint: 'run treeline render as root, or leave "owner" out' };
}

/**
 * Resolves with the id of a user and of its group, or with that of a group, found by name or id; empty if unknown.
 */
async function findIds(table: 'passwd' | 'group', name: string): Promise<readonly number[]> {
  try {
    const { stdout } = await promisify(execFile)('getent', [table, name], { timeout: 10_000 });
    return stdout
      .split(':')
      .slice(2, table === 'passwd' ? 4 : 3)
      .map(Number);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    // An id need not have a name.
    return /^\d{1,9}$/.test(name) ? [Number(name)] : [];
  }
}
