// Reads the entries of `execution.providers` of the settings: fills in defaults, finds programs, and reports
// conflicting entries.
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { invariant } from '../base/invariant.ts';
import { quote } from '../base/wording.ts';
import { below, type Fault } from '../model/entry.ts';
import { PROXIED } from '../model/names.ts';
import type { EntrySettings, ImplementationSettings, ProviderSettings, SimulatedSettings } from '../model/settings.ts';
import { addressFault, type PlacedFault, placedFault, settingAt } from './refuse-settings.ts';

type Nullable<Group> = { readonly [Key in keyof Group]: Group[Key] | null };

/** An entry, completed by the schema. */
export interface WrittenProvider
  extends Pick<EntrySettings, 'name' | 'timeoutSeconds' | 'checkSeconds' | 'drift'>,
    Nullable<Pick<EntrySettings, 'concurrency'>> {
  readonly match: Nullable<EntrySettings['match']> | null;
  readonly provider: ProviderSettings['implementation'];
  readonly options?: Omit<SimulatedSettings, 'file'> & Nullable<Pick<SimulatedSettings, 'file'>>;
  readonly command: readonly string[] | null;
  readonly environment: Readonly<Record<string, string>> | null;
  readonly url?: string | null;
  readonly secretFile?: string | null;
  readonly caFile?: string | null;
  readonly retry: Nullable<EntrySettings['retry']> | null;
}

/** The sources of the defaults of an entry. */
interface Inherited extends Pick<EntrySettings, 'concurrency' | 'retry'> {
  /** The directory of the settings file. */
  readonly base: string;
  /** The directory of the store. */
  readonly directory: string;
  /** The controller's `PATH`, for programs without a slash. */
  readonly searchPath: string | undefined;
}

const SEARCH_PATH = '/usr/local/bin:/usr/bin:/bin';

/** Returns an entry with its defaults. */
export async function fillInProvider(written: WrittenProvider, inherited: Inherited): Promise<ProviderSettings> {
  const { name, match, timeoutSeconds, checkSeconds, drift } = written;
  const { concurrency, retry } = inherited;
  const own = Object.entries(written.retry ?? {}).filter(([, value]) => value !== null);
  return {
    name,
    match: { kind: match?.kind ?? null, properties: match?.properties ?? {} },
    ...(await chooseImplementation(written, inherited)),
    timeoutSeconds,
    checkSeconds,
    drift,
    // By default, no entry may use the whole capacity.
    concurrency: written.concurrency ?? Math.max(1, Math.floor(concurrency / 2)),
    retry: { ...retry, ...Object.fromEntries(own) },
  };
}

/** A missing field becomes ''; it is reported separately. */
async function chooseImplementation(
  { name, provider, options, command, environment, url, secretFile, caFile = null }: WrittenProvider,
  { base, directory, searchPath }: Inherited,
): Promise<ImplementationSettings> {
  if (provider === 'http') return { implementation: provider, url: url ?? '', secretFile: secretFile ?? '', caFile };
  if (provider === 'exec') {
    const [program = '', ...args] = command ?? [];
    return {
      implementation: provider,
      command: [await findProgram(program, { base, searchPath }), ...args],
      directory: base,
      environment: environment ?? {},
    };
  }
  invariant(options !== undefined, 'the schema completes the options of a simulated provider');
  const file = options.file ?? join(directory, `simulated-${name}.sqlite`);
  return { implementation: 'simulated', options: { ...options, file } };
}

/**
 * Returns the absolute path of a program: relative to `base` if it has a slash, otherwise the first executable of that
 * name in the search path. Returns a name that is not found unchanged.
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
 * Returns why a path cannot be executed, as the end of a sentence that begins with it; undefined if it can.
 */
async function whyNotExecutable(path: string): Promise<string | undefined> {
  try {
    if (!(await stat(path)).isFile()) return 'is not a file';
    await access(path, constants.X_OK);
    return undefined;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    return error.code === 'EACCES' ? 'may not be executed' : 'is not there';
  }
}

/**
 * Returns the faults of entries: duplicate names, and programs that cannot be used.
 */
export async function faultsOfProviders(providers: readonly ProviderSettings[]): Promise<readonly PlacedFault[]> {
  const pointerOf = (index: number): string => below('/execution/providers', index);
  const programs = await Promise.all(
    providers.map(async (provider, index) => {
      if (provider.implementation !== 'exec') return [];
      return placedFault(await programFault(provider.command[0]), pointerOf(index), 'command', 0);
    }),
  );
  return [...findConflicts(providers, pointerOf), ...programs.flat()];
}

/** Returns the faults of the addresses of services. `settings` may have any shape. */
export function faultsOfServices(settings: unknown): readonly PlacedFault[] {
  const providers = settingAt(settings, ['execution', 'providers']);
  if (!Array.isArray(providers)) return [];
  return providers.flatMap((entry: unknown, index) => {
    const url = settingAt(entry, ['url']);
    if (settingAt(entry, ['provider']) !== 'http' || typeof url !== 'string') return [];
    return placedFault(serviceFault(url), below('/execution/providers', index), 'url');
  });
}

/** Returns why the address of a service cannot be used. A missing one is reported separately. */
export function serviceFault(text: string): Fault | undefined {
  if (text === '') return undefined;
  const instead = 'requests are signed with the secret of secretFile instead';
  return addressFault(text, { what: 'a service', sent: 'records', takesQuery: true, instead });
}

/** Returns why a result of {@link findProgram} cannot be started. A missing program is reported separately. */
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
  return providers.flatMap(({ name }, index) => {
    const isKnown = names.has(name);
    names.add(name);
    return placedFault(isKnown ? nameConflict(name) : undefined, pointerOf(index), 'name');
  });
}

function nameConflict(name: string): Fault {
  const code = 'duplicate_name';
  if (name !== PROXIED) return { code, message: `there is another provider named "${name}"`, hint: 'rename one' };
  return { code, message: `"${PROXIED}" is reserved for the entry of proxies`, hint: 'rename it' };
}
