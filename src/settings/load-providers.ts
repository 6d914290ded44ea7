// Reads the entries of `execution.providers` of the settings: fills in defaults, finds programs, and reports which
// entries cannot work beside each other.
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { quote } from '../base/wording.ts';
import { below, type Fault } from '../model/entry.ts';
import { PROXIED } from '../model/names.ts';
import type { DriftPolicy, PropertyValue } from '../model/objects.ts';
import type { ImplementationSettings, ProviderSettings, RetryPolicy, SimulatedSettings } from '../model/settings.ts';
import { addressFault, type PlacedFault, placedFault } from './refuse-settings.ts';

/** An entry as it is written, in the shape that the schema allows. */
export interface WrittenProvider {
  readonly name: string;
  readonly match?: { readonly kind?: string; readonly properties?: Readonly<Record<string, PropertyValue>> };
  readonly provider: ProviderSettings['implementation'];
  readonly options?: Partial<SimulatedSettings>;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly secretFile?: string;
  readonly caFile?: string;
  readonly timeoutSeconds?: number;
  readonly checkSeconds?: number;
  readonly drift?: DriftPolicy;
  readonly concurrency?: number;
  readonly retry?: Partial<RetryPolicy>;
}

/** The facts from which the defaults of an entry come. */
export interface Inherited {
  /** The directory of the settings file. */
  readonly base: string;
  /** Of the store. */
  readonly directory: string;
  /** Of all entries together. */
  readonly concurrency: number;
  readonly retry: RetryPolicy;
  /** The controller's own `PATH`, in which programs without a slash are found. */
  readonly searchPath: string | undefined;
}

const SIMULATED = { createMs: 200, updateMs: 100, deleteMs: 100, checkMs: 0, failRate: 0, seed: 1 };
const SEARCH_PATH = '/usr/local/bin:/usr/bin:/bin';

/** Returns an entry with its defaults and absolute paths. */
export async function fillInProvider(written: WrittenProvider, inherited: Inherited): Promise<ProviderSettings> {
  const { name, match } = written;
  const { concurrency, retry } = inherited;
  return {
    name,
    match: { kind: match?.kind ?? null, properties: match?.properties ?? {} },
    ...(await chooseImplementation(written, inherited)),
    timeoutSeconds: written.timeoutSeconds ?? 600,
    checkSeconds: written.checkSeconds ?? 300,
    drift: written.drift ?? 'report',
    // No entry uses all of it, unless the operator configures that.
    concurrency: written.concurrency ?? Math.max(1, Math.floor(concurrency / 2)),
    retry: { ...retry, ...written.retry },
  };
}

async function chooseImplementation(
  written: WrittenProvider,
  { base, directory, searchPath }: Inherited,
): Promise<ImplementationSettings> {
  const { name, provider, options, command = [], environment = {} } = written;
  if (provider === 'http') {
    const { url = '', secretFile = '', caFile } = written;
    const paths = {
      secretFile: resolve(base, secretFile),
      caFile: caFile === undefined ? null : resolve(base, caFile),
    };
    return { implementation: provider, url, ...paths };
  }
  if (provider === 'exec') {
    const [program = '', ...args] = command;
    return {
      implementation: provider,
      command: [await findProgram(program, { base, searchPath }), ...args],
      directory: base,
      environment,
    };
  }
  const file = options?.file === undefined ? join(directory, `simulated-${name}.sqlite`) : resolve(base, options.file);
  return { implementation: 'simulated', options: { ...SIMULATED, ...options, file } };
}

/**
 * Returns the absolute path of a program: relative to `base` where it has a slash, else the first executable of that
 * name in the search path. A name that is not found is returned unchanged.
 */
export async function findProgram(
  program: string,
  { base, searchPath }: Pick<Inherited, 'base' | 'searchPath'>,
): Promise<string> {
  if (program.includes('/')) return resolve(base, program);
  for (const directory of (searchPath || SEARCH_PATH).split(delimiter)) {
    const path = resolve(base, directory, program);
    if (directory !== '' && (await whyNotExecutable(path)) === undefined) return path;
  }
  return program;
}

/**
 * Returns why a path is no program that may be executed, as the end of a sentence that begins with it, or undefined.
 */
async function whyNotExecutable(path: string): Promise<string | undefined> {
  try {
    if (!(await stat(path)).isFile()) return 'is no file';
    await access(path, constants.X_OK);
    return undefined;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    return error.code === 'EACCES' ? 'may not be executed' : 'is not there';
  }
}

/**
 * Returns what keeps entries from working: two of one name or with one file, programs and addresses that cannot be
 * used.
 */
export async function faultsOfProviders(providers: readonly ProviderSettings[]): Promise<readonly PlacedFault[]> {
  const pointerOf = (index: number): string => below('/execution/providers', index);
  const programs = await Promise.all(
    providers.map(async (provider, index) => {
      if (provider.implementation === 'http') return placedFault(serviceFault(provider.url), pointerOf(index), 'url');
      if (provider.implementation !== 'exec') return [];
      return placedFault(await programFault(provider.command[0]), pointerOf(index), 'command', 0);
    }),
  );
  return [...findConflicts(providers, pointerOf), ...programs.flat()];
}

/** Returns why the address of a service cannot be used; a missing one is a fault of its own. */
export function serviceFault(text: string): Fault | undefined {
  if (text === '') return undefined;
  const instead = 'requests are signed with the secret of secretFile instead';
  return addressFault(text, { what: 'a service', sent: 'records', takesQuery: true, instead });
}

/** Returns why a program, as {@link findProgram} returns it, cannot be started; a missing one is a fault of its own. */
export async function programFault(program: string): Promise<Fault | undefined> {
  if (program === '') return undefined;
  if (!program.includes('/')) {
    const message = `there is no program ${quote(program)} in the PATH of this process`;
    return { code: 'no_program', message, hint: 'write its path, absolute or relative to this file: ./NAME' };
  }
  const why = await whyNotExecutable(program);
  if (why === undefined) return undefined;
  const hint = why === 'may not be executed' ? `chmod +x ${program}` : 'correct the path, or install the program';
  return { code: 'no_program', message: `${program} ${why}`, hint };
}

function findConflicts(
  providers: readonly ProviderSettings[],
  pointerOf: (index: number) => string,
): readonly PlacedFault[] {
  const names = new Set([PROXIED]);
  const files = new Map<string, string>();
  return providers.flatMap((provider, index) => {
    const { name } = provider;
    const file = provider.implementation === 'simulated' ? provider.options.file : undefined;
    const owner = file === undefined ? undefined : files.get(file);
    const isKnown = names.has(name);
    names.add(name);
    if (file !== undefined) files.set(file, name);
    if (isKnown) return placedFault(nameConflict(name), pointerOf(index), 'name');
    if (owner === undefined) return [];
    const message = `the provider "${owner}" keeps its servers in ${file} already`;
    return placedFault({ code: 'duplicate_file', message, hint: 'name another file' }, pointerOf(index), 'options');
  });
}

function nameConflict(name: string): Fault {
  const code = 'duplicate_name';
  if (name !== PROXIED) return { code, message: `there is another provider named "${name}"`, hint: 'rename one' };
  return { code, message: `"${PROXIED}" is the name of the entry of proxies`, hint: 'rename it' };
}
