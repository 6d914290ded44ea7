// Loads the settings from the operator's file: checks it against schemas/settings.schema.json, refuses unsupported
// settings, and fills in the defaults of the schema. Reports all mistakes together.

import { readFile, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, resolve } from 'node:path';
import schema from '../../schemas/settings.schema.json' with { type: 'json' };
import { quote, whyUnusable } from '../base/wording.ts';
import { FILE_BYTES_MAX } from '../catalog/decode-text.ts';
import { compileSchema } from '../catalog/schemas.ts';
import { parseYaml, type YamlDocument } from '../catalog/yaml.ts';
import { below, type Fault, problemFrom } from '../model/entry.ts';
import { isMap, type Json, type JsonMap } from '../model/json.ts';
import { PROXIED } from '../model/names.ts';
import { hasNoErrors, type Problem, sortProblems } from '../model/problem.ts';
import type {
  DeleteBudget,
  ExecutionSettings,
  NotificationTarget,
  RepositorySettings,
  SecretPlace,
  Settings,
  SettingsFile,
} from '../model/settings.ts';
import {
  faultsOfProviders,
  faultsOfServices,
  fillInProvider,
  findProgram,
  type WrittenProvider,
} from './load-providers.ts';
import {
  faultsOfStatuses,
  fillInPage,
  fillInStatuses,
  type WrittenPage,
  type WrittenStatuses,
} from './load-statuses.ts';
import { faultsOfStore, fillInStore, type WrittenStore } from './load-store.ts';
import { addressFault, type Environment, findRefusals, type PlacedFault, placedFault } from './refuse-settings.ts';

/** The settings are invalid. The message contains every problem, one per line. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly problems: readonly Problem[];

  constructor(message: string, problems: readonly Problem[] = [], options?: ErrorOptions) {
    super(message, options);
    this.problems = problems;
  }
}

/** The shape that the completed schema guarantees. */
interface Written
  extends Pick<Settings, 'id' | 'api' | 'management' | 'webhook' | 'replica' | 'shutdownSeconds' | 'log' | 'audit'> {
  readonly page: WrittenPage | null;
  readonly repository: WrittenRepository;
  readonly statuses: WrittenStatuses | null;
  readonly notifications: readonly (NotificationTarget & { readonly format: string })[] | null;
  readonly store: WrittenStore;
  readonly execution: Omit<ExecutionSettings, 'providers'> & { readonly providers: readonly WrittenProvider[] };
}

interface WrittenRepository extends Omit<RepositorySettings, 'access'> {
  readonly usernameFile: string | null;
  readonly passwordFile: string | null;
  readonly caFile: string | null;
}

/** The default delete budget. */
export const DELETE_BUDGET = complete(
  schema.properties.execution.properties.deleteBudget,
  {},
  { base: '/' },
) as unknown as DeleteBudget;

const checkShape = compileSchema(schema);

/**
 * Returns the settings of a file, complete and with absolute paths. Throws SettingsError if the file cannot be read or
 * violates its schema, or if the file or `environment` requests something unsupported.
 */
export async function loadSettings(file: string, environment: Environment = process.env): Promise<Settings> {
  return await readSettings<Written, Settings>(file, {
    schema,
    checkShape,
    fillIn: (written, place) => fillIn(written, { ...place, environment }),
    faultsOf: async (value, settings) => [
      ...findRefusals(value, environment),
      ...faultsOfServices(value),
      ...faultsOfStore(value, environment),
      ...(settings === undefined ? [] : await faultsOfParts(settings, environment.PATH)),
    ],
  });
}

async function faultsOfParts(settings: Settings, searchPath: string | undefined): Promise<readonly PlacedFault[]> {
  const { repository, execution, statuses, notifications } = settings;
  const signatures = await faultsOfSignatures(repository, searchPath);
  const faults = [...signatures, ...(await faultsOfProviders(execution.providers)), ...faultsOfStatuses(statuses)];
  return [...faults, ...faultsOfNotifications(notifications), ...faultsOfListeners(settings)];
}

const WRITES: Fault = {
  code: 'wrong_value',
  message: 'the commits of the REST interface would not be followed: "verify" needs a signature that they do not have',
  hint: 'add "sign:" and list its key in verify.allowedSigners, or write "writes: propose" or "writes: off"',
};

/** Returns the faults that prevent checking and creating signatures. */
async function faultsOfSignatures(
  { verify, sign, writes }: RepositorySettings,
  searchPath: string | undefined,
): Promise<readonly PlacedFault[]> {
  const isSigned = sign !== null && verify?.allowedSigners !== null;
  const missing = async (program: string, isNeeded: boolean, ...keys: readonly string[]) => {
    const isThere = !isNeeded || (await findProgram(program, { base: '/', searchPath })) !== program;
    return placedFault(isThere ? undefined : noProgram(program), '/repository', ...keys);
  };
  return [
    ...placedFault(verify !== null && writes === 'commit' && !isSigned ? WRITES : undefined, '/repository', 'verify'),
    ...(await missing('ssh-keygen', verify != null && verify.allowedSigners !== null, 'verify', 'allowedSigners')),
    ...(await missing('gpg', verify != null && verify.keyring !== null, 'verify', 'keyring')),
    ...(await missing('ssh-keygen', sign !== null, 'sign', 'sshKeyFile')),
  ];
}

function noProgram(program: string): Fault {
  const debian = program === 'gpg' ? 'gpg' : 'openssh-client';
  const message = `this needs the program "${program}", which is not in the PATH of this process`;
  return { code: 'no_program', message, hint: `install it: on Debian, the package ${debian}` };
}

/** Does not repeat an address that may contain a password. */
function faultsOfNotifications(targets: Settings['notifications']): readonly PlacedFault[] {
  const use = {
    what: 'a subscriber',
    sent: 'the events',
    takesQuery: true,
    instead: 'put the secret into secretFile',
  };
  return targets.flatMap(({ name, url }, index) => {
    const isTwice = targets.slice(0, index).some((other) => other.name === name);
    const message = `two subscribers are named ${quote(name)}`;
    const twice: Fault = { code: 'wrong_value', message, hint: 'give each a name of its own' };
    return [
      ...placedFault(addressFault(url, use), `/notifications/${index}`, 'url'),
      ...placedFault(isTwice ? twice : undefined, `/notifications/${index}`, 'name'),
    ];
  });
}

const LISTENERS = ['api', 'management', 'webhook'] as const;
/** Addresses that include all other addresses. */
const EVERY_HOST: readonly string[] = ['0.0.0.0', '::'];

/** Two listeners of one process cannot share a port of an address. */
function faultsOfListeners(settings: Settings): readonly PlacedFault[] {
  const all = LISTENERS.flatMap((name) => {
    const listener = settings[name];
    return listener === null || listener.port === 0 ? [] : [{ ...listener, name }];
  });
  return all.flatMap(({ name, host, port }, index) => {
    const isTaken = (other: { readonly host: string; readonly port: number }): boolean =>
      other.port === port && (other.host === host || [other.host, host].some((each) => EVERY_HOST.includes(each)));
    const owner = all.slice(0, index).find(isTaken);
    const message = `the port ${port} of "${name}" is also used by "${owner?.name}"`;
    const fault: Fault = { code: 'wrong_value', message, hint: 'give each a port of its own' };
    return placedFault(owner && fault, `/${name}`, 'port');
  });
}

/** A file of settings. */
interface SettingsPlace {
  /** Its absolute path. */
  readonly file: string;
  /** Its directory, the base of relative paths. */
  readonly base: string;
  /** The files that it names. */
  readonly files: readonly SettingsFile[];
}

/** The stages of reading a file of settings. */
interface SettingsStages<Written, Complete> {
  readonly schema: JsonMap;
  readonly checkShape: (file: string, document: YamlDocument) => readonly Problem[];
  /** Fills in defaults that the schema cannot express. */
  readonly fillIn: (written: Written, place: SettingsPlace) => Promise<Complete>;
  /** Returns faults that the schema cannot express. `settings`: undefined if the file violates the schema. */
  readonly faultsOf: (value: Json | undefined, settings: Complete | undefined) => Promise<readonly PlacedFault[]>;
}

/**
 * Returns the settings of a file. `Written` is the shape that the completed schema guarantees. Throws SettingsError.
 */
export async function readSettings<Written, Complete>(
  file: string,
  { schema, checkShape, fillIn, faultsOf }: SettingsStages<Written, Complete>,
): Promise<Complete> {
  const path = resolve(file);
  const document = parseYaml(file, await readBytes(path));
  const shape = [...document.problems, ...checkShape(file, document)].map((each) => withoutSecret(each, document));
  const base = dirname(path);
  const files: SettingsFile[] = [];
  const settings = hasNoErrors(shape)
    ? await fillIn(complete(schema, document.value, { base, files }) as Written, { file: path, base, files })
    : undefined;
  const problems = sortProblems([
    ...shape,
    ...problemsOfSettings(file, document, await faultsOf(document.value, settings)),
  ]);
  if (settings === undefined || !hasNoErrors(problems)) throw unusable(file, problems);
  return settings;
}

/** Groups: the variable of a provider's environment, and the pointer below it. */
const ENVIRONMENT = /\/environment(?:\/([^/]*))?(\/[\s\S]*)?$/;
/** Problems whose message or hint quotes the file. */
const REPEATING: ReadonlySet<Problem['code']> = new Set([
  ...(['wrong_type', 'wrong_value', 'unsafe_number', 'number_spelling'] as const),
  ...(['yaml_anchor', 'yaml_tag', 'yaml_syntax'] as const),
]);

/** A text with the environment of a provider, or the URL of a database. */
const MAY_HOLD_SECRETS = /\benvironment["']?\s*:|\bpostgres(?:ql)?:/;

/** Returns the problem without values of a provider's environment, which may be secrets: messages are logged. */
function withoutSecret(given: Problem, { text }: YamlDocument): Problem {
  // A URL in a wrong place may contain a password.
  const [message = '', hint] = [given.message, given.hint].map((words) => words?.replaceAll(/\S+:\/\/\S+/g, '…'));
  const problem: Problem = { ...given, message, hint: hint ?? null };
  const { pointer, code } = problem;
  if (code === 'yaml_syntax' && MAY_HOLD_SECRETS.test(text ?? '')) {
    return { ...problem, message: 'this is not YAML; it is not shown, since it may be a secret', hint: 'use quotes' };
  }
  if (pointer === '/store/url' && REPEATING.has(code)) {
    const rule = 'the URL of the database has to be a text of up to 4,096 characters';
    return {
      ...problem,
      message: `${rule}; it is not shown, since it may contain a password`,
      hint: 'put it in quotes',
    };
  }
  const [isBelow, name, more] = ENVIRONMENT.exec(pointer) ?? [];
  if (isBelow === undefined) return problem;
  if (REPEATING.has(code) || more !== undefined) {
    const what = name === undefined ? 'each value of "environment"' : `the value of ${quote(name)}`;
    const rule = `${what} has to be a text of up to 65,536 characters`;
    return { ...problem, message: `${rule}; it is not shown, since it may be a secret`, hint: 'put it in quotes' };
  }
  // The key may contain the value: `NAME=value`.
  const key = name?.replaceAll('~1', '/').replaceAll('~0', '~') ?? '';
  return { ...problem, message: message.replace(quote(key), () => quote(key.replace(/\W[\s\S]*$/, '…'))) };
}

async function readBytes(path: string): Promise<Uint8Array> {
  try {
    const { size } = await stat(path);
    if (size > FILE_BYTES_MAX) throw new Error(`it has ${size} bytes, and ${FILE_BYTES_MAX} are allowed`);
    return await readFile(path);
  } catch (error) {
    const reason = whyUnusable(error);
    throw new SettingsError(`The settings file ${path} cannot be read: ${reason}`, [], { cause: error });
  }
}

function unusable(file: string, problems: readonly Problem[]): SettingsError {
  const lines = problems.map(({ line, column, message, hint }) => {
    return `${file}:${line}:${column}: ${message}${hint === null ? '' : `; ${hint}`}`;
  });
  return new SettingsError(`The settings cannot be used:\n${lines.join('\n')}`, problems);
}

/** Returns the problems of faults in a document of settings. */
export function problemsOfSettings(file: string, document: YamlDocument, faults: readonly PlacedFault[]): Problem[] {
  return faults.map(({ pointer, fault }) =>
    problemFrom(fault, { ...document.locate(pointer, fault.part), file, pointer }),
  );
}

async function fillIn(
  written: Written,
  { file, base, files, environment }: SettingsPlace & { readonly environment: Environment },
): Promise<Settings> {
  const { page, statuses, notifications, execution, replica } = written;
  const { concurrency, retry } = execution;
  const store = fillInStore(written.store, { file, environment });
  const repository = fillInRepository(written.repository, base, environment);
  const { directory } = store;
  const inherited = { base, directory, concurrency, retry, searchPath: environment.PATH };
  const providers = await Promise.all(execution.providers.map((provider) => fillInProvider(provider, inherited)));
  return {
    ...written,
    page: fillInPage(page, { repository, forge: statuses?.kind }),
    repository,
    statuses: statuses && fillInStatuses(statuses, repository),
    notifications: (notifications ?? []).map(({ format: _, ...target }) => target),
    store,
    files: usedFiles(files, { access: repository.access, store }),
    replica: { ...replica, name: replica.name ?? hostName() },
    // The calls of proxies run elsewhere, so they use no capacity of this controller.
    execution: { ...execution, providers, proxied: { ...execution.proxied, name: PROXIED, concurrency, retry } },
  };
}

/** Returns the files that are used. Environment variables override some of them. */
function usedFiles(
  files: readonly SettingsFile[],
  { access: { username, password }, store }: Pick<RepositorySettings, 'access'> & Pick<Settings, 'store'>,
): readonly SettingsFile[] {
  const url = store.kind === 'lowdb' ? null : store.url;
  const places: Readonly<Record<string, typeof url>> = {
    '/repository/usernameFile': username,
    '/repository/passwordFile': password,
    '/store/urlFile': url,
  };
  const used = files
    .filter(({ pointer }) => places[pointer]?.kind !== 'variable')
    // Without a password, the username may be a token.
    .map((file) => (file.setting === 'repository.usernameFile' ? { ...file, isSecret: password === null } : file));
  if (url?.kind !== 'settings' || (URL.parse(url.url)?.password ?? '') === '') return used;
  return [...used, { pointer: '/store/url', setting: 'store.url', path: url.file, isSecret: true }];
}

function fillInRepository(
  { usernameFile, passwordFile, caFile, ...followed }: WrittenRepository,
  base: string,
  environment: Environment,
): RepositorySettings {
  const placeOf = (variable: string, path: string | null): SecretPlace | null => {
    if ((environment[variable] ?? '') !== '') return { kind: 'variable', name: variable };
    return path === null ? null : { kind: 'file', path };
  };
  const username = placeOf('TREELINE_GIT_USERNAME', usernameFile);
  const password = placeOf('TREELINE_GIT_PASSWORD', passwordFile);
  // A URL is unchanged, even if it is refused elsewhere.
  const url = followed.url.includes(':') ? followed.url : resolve(base, followed.url);
  return { ...followed, url, access: { username, password, caFile } };
}

const NAME_LENGTH_MAX = 63;

/** Returns the host name, reduced to the characters of a replica's name. */
function hostName(): string {
  const name = hostname()
    .replaceAll(/[^A-Za-z0-9._-]/g, '-')
    .replace(/^[._-]+/, '');
  return name.slice(0, NAME_LENGTH_MAX) || 'replica';
}

interface Completing {
  /** The base of relative paths. */
  readonly base: string;
  /** Collects the files that the settings name, except those that the program creates. */
  readonly files?: SettingsFile[];
}

/**
 * Returns a checked value with every key that its schema allows: the written value, the default, or null. An omitted
 * group is completed if it has defaults and no required keys. `path` in the schema declares the use of a path: a file
 * that is read, a secret, or a file that the program creates.
 */
function complete(schema: JsonMap, written: Json | undefined, completing: Completing, pointer = ''): Json {
  const { properties, items, path: kind } = schema;
  const value = written ?? schema.default ?? (hasDefaults(schema) ? {} : null);
  if (isMap(properties) && isMap(value)) {
    const keys = Object.entries(properties) as readonly [string, JsonMap][];
    return Object.fromEntries(
      keys.map(([key, child]) => [key, complete(child, value[key], completing, below(pointer, key))]),
    );
  }
  if (isMap(items) && Array.isArray(value)) {
    return value.map((item: Json, index) => complete(items, item, completing, below(pointer, index)));
  }
  if (kind === undefined || typeof value !== 'string') return value;
  const path = resolve(completing.base, value);
  const setting = pointer.slice(1).replaceAll('/', '.');
  if (kind !== 'made') completing.files?.push({ pointer, setting, path, isSecret: kind === 'secret' });
  return path;
}

function hasDefaults({ default: preset, required, properties }: JsonMap): boolean {
  if (preset !== undefined) return true;
  if (required !== undefined || !isMap(properties)) return false;
  return Object.values(properties).some((each) => hasDefaults(each as JsonMap));
}
