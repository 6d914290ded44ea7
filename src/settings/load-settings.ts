// Loads the settings from the operator's file: checks it against schemas/settings.schema.json, refuses what this
// version does not support, and fills in defaults. Reports all mistakes at once.

import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import schema from '../../schemas/settings.schema.json' with { type: 'json' };
import { quote, whyUnusable } from '../base/wording.ts';
import { FILE_BYTES_MAX } from '../catalog/decode-text.ts';
import { compileSchema } from '../catalog/schemas.ts';
import { parseYaml, type YamlDocument } from '../catalog/yaml.ts';
import { type Fault, problemFrom } from '../model/entry.ts';
import type { Json } from '../model/json.ts';
import { PROXIED } from '../model/names.ts';
import type { ReadScope } from '../model/objects.ts';
import { hasNoErrors, type Problem, sortProblems } from '../model/problem.ts';
import {
  type DeleteBudget,
  type LogLevel,
  NOTIFICATION_KINDS,
  type NotificationTarget,
  type ProxiedSettings,
  type ReplicaSettings,
  type RepositorySettings,
  type RetryPolicy,
  type SecretPlace,
  type Settings,
  type VerifySettings,
} from '../model/settings.ts';
import { fillInPage, type WrittenPage } from './load-page.ts';
import { faultsOfProviders, fillInProvider, type WrittenProvider } from './load-providers.ts';
import { faultsOfSignatures } from './load-signatures.ts';
import { faultsOfStatuses, fillInStatuses, type WrittenStatuses } from './load-statuses.ts';
import { faultsOfStore, fillInReplica, fillInStore, type WrittenStore } from './load-store.ts';
import { addressFault, type Environment, findRefusals, type PlacedFault, placedFault } from './refuse-settings.ts';

/** The settings are invalid. The message holds every problem, one per line. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly problems: readonly Problem[];

  constructor(message: string, problems: readonly Problem[] = [], options?: ErrorOptions) {
    super(message, options);
    this.problems = problems;
  }
}

/** The shape that the schema allows. */
interface WrittenSettings {
  readonly id?: string;
  readonly api: {
    readonly host?: string;
    readonly port?: number;
    readonly proxyReads?: ReadScope;
    readonly requestsPerSecond?: number;
    readonly tls: { readonly key: string; readonly cert: string; readonly clientCa: string; readonly crl?: string };
  };
  readonly management?: { readonly host?: string; readonly port?: number; readonly dashboard?: boolean };
  readonly webhook?: { readonly host?: string; readonly port?: number; readonly secretFile: string };
  readonly page?: WrittenPage;
  readonly repository: WrittenRepository;
  readonly statuses?: WrittenStatuses;
  readonly notifications?: readonly WrittenNotification[];
  readonly store?: WrittenStore;
  readonly replica?: Partial<ReplicaSettings>;
  readonly execution?: {
    readonly concurrency?: number;
    readonly deleteBudget?: Partial<DeleteBudget>;
    readonly graceSeconds?: number;
    readonly retry?: Partial<RetryPolicy>;
    readonly providers?: readonly WrittenProvider[];
    readonly proxied?: Partial<Pick<ProxiedSettings, 'timeoutSeconds' | 'checkSeconds' | 'drift'>>;
  };
  readonly shutdownSeconds?: number;
  readonly log?: { readonly level?: LogLevel };
  readonly audit?: { readonly file: string };
}

type WrittenNotification = Pick<NotificationTarget, 'name' | 'url' | 'secretFile'> &
  Partial<Pick<NotificationTarget, 'instances' | 'kinds'>> & {
    readonly caFile?: string;
    readonly format?: 'cloudevents';
  };

interface WrittenRepository {
  readonly url: string;
  readonly branch?: string;
  readonly directory?: string;
  readonly pollSeconds?: number;
  readonly writes?: RepositorySettings['writes'];
  readonly usernameFile?: string;
  readonly passwordFile?: string;
  readonly caFile?: string;
  readonly verify?: Partial<Record<keyof VerifySettings, string>>;
  readonly sign?: { readonly sshKeyFile: string };
}

const RETRY: RetryPolicy = { attempts: 8, firstSeconds: 2, maxSeconds: 300, failedSeconds: 3600 };
/** The delete budget where the settings say nothing. */
export const DELETE_BUDGET: DeleteBudget = { percent: 10, least: null, most: 20 };
const PROXIED_DEFAULTS = { timeoutSeconds: 900, checkSeconds: 300, drift: 'report' } as const;

const checkShape = compileSchema(schema);

/**
 * Returns the settings of a file, complete and with absolute paths. Throws SettingsError if the file cannot be read,
 * violates its schema, or requests something that this version does not support; `environment` is checked for that too.
 */
export async function loadSettings(file: string, environment: Environment = process.env): Promise<Settings> {
  return await readSettings<WrittenSettings, Settings>(file, {
    checkShape,
    // Keys that the schema allows beyond WrittenSettings are refused.
    fillIn: (written, place) => fillIn(written, { ...place, environment }),
    faultsOf: async (value, settings) => [
      ...findRefusals(value, environment),
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

/** An address is not repeated where it may hold a password. */
function faultsOfNotifications(targets: Settings['notifications']): readonly PlacedFault[] {
  const use = {
    what: 'a subscriber',
    sent: 'the events',
    takesQuery: true,
    instead: 'the secret stands in secretFile',
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
/** Addresses that stand for others too. */
const EVERY_HOST: readonly string[] = ['0.0.0.0', '::'];

/** Two listeners of one process cannot have the same port of one address. */
function faultsOfListeners(settings: Settings): readonly PlacedFault[] {
  const all = LISTENERS.flatMap((name) => {
    const listener = settings[name];
    return listener === null || listener.port === 0 ? [] : [{ ...listener, name }];
  });
  return all.flatMap((one, index) => {
    const other = all
      .slice(0, index)
      .find(
        ({ host, port }) =>
          port === one.port && (host === one.host || [host, one.host].some((each) => EVERY_HOST.includes(each))),
      );
    if (other === undefined) return [];
    const message = `the port ${one.port} of "${one.name}" is that of "${other.name}" too, and only one of them can listen`;
    return [
      { pointer: `/${one.name}/port`, fault: { code: 'wrong_value', message, hint: 'give each a port of its own' } },
    ];
  });
}

/** A file of settings. */
interface SettingsPlace {
  /** Its absolute path. */
  readonly file: string;
  /** Its directory, in which relative paths begin. */
  readonly base: string;
}

/** The stages of reading a file of settings. */
interface SettingsStages<Written, Complete> {
  readonly checkShape: (file: string, document: YamlDocument) => readonly Problem[];
  /** Fills in defaults. */
  readonly fillIn: (written: Written, place: SettingsPlace) => Promise<Complete>;
  /** Returns what the schema cannot express; `settings` is undefined if the file violates the schema. */
  readonly faultsOf: (value: Json | undefined, settings: Complete | undefined) => Promise<readonly PlacedFault[]>;
}

/** Returns the settings of a file. `Written` is the shape that the schema guarantees. Throws SettingsError. */
export async function readSettings<Written, Complete>(
  file: string,
  { checkShape, fillIn, faultsOf }: SettingsStages<Written, Complete>,
): Promise<Complete> {
  const path = resolve(file);
  const document = parseYaml(file, await readBytes(path));
  const shape = [...document.problems, ...checkShape(file, document)].map((each) => withoutSecret(each, document));
  const settings = hasNoErrors(shape)
    ? await fillIn(document.value as Written, { file: path, base: dirname(path) })
    : undefined;
  const problems = sortProblems([
    ...shape,
    ...problemsOfSettings(file, document, await faultsOf(document.value, settings)),
  ]);
  if (settings === undefined || !hasNoErrors(problems)) throw unusable(file, problems);
  return settings;
}

/** The environment of a provider; its variable; what is in that. */
const ENVIRONMENT = /\/environment(?:\/([^/]*))?(\/[\s\S]*)?$/;
/** Problems whose message or hint repeats what is written. */
const REPEATING: ReadonlySet<Problem['code']> = new Set([
  ...(['wrong_type', 'wrong_value', 'unsafe_number', 'number_spelling'] as const),
  ...(['yaml_anchor', 'yaml_tag', 'yaml_syntax'] as const),
]);

/** A text with the environment of a provider, or the URL of a database. */
const MAY_HOLD_SECRETS = /\benvironment["']?\s*:|\bpostgres(?:ql)?:/;

/** A value in the environment of a provider may be a secret, and messages are logged: the problem comes without it. */
function withoutSecret(given: Problem, { text }: YamlDocument): Problem {
  // A URL in a wrong place may have a password.
  const [message = '', hint] = [given.message, given.hint].map((words) => words?.replaceAll(/\S+:\/\/\S+/g, '…'));
  const problem: Problem = { ...given, message, hint: hint ?? null };
  const { pointer, code } = problem;
  if (code === 'yaml_syntax' && MAY_HOLD_SECRETS.test(text ?? '')) {
    return { ...problem, message: 'this is no YAML; it is not shown, since it may be a secret', hint: 'use quotes' };
  }
  if (pointer === '/store/url' && REPEATING.has(code)) {
    const rule = 'the URL of the database has to be a text of up to 4,096 characters';
    return { ...problem, message: `${rule}; it is not shown, since it may hold a password`, hint: 'put it in quotes' };
  }
  const [isBelow, name, more] = ENVIRONMENT.exec(pointer) ?? [];
  if (isBelow === undefined) return problem;
  if (REPEATING.has(code) || more !== undefined) {
    const what = name === undefined ? 'each value of "environment"' : `the value of ${quote(name)}`;
    const rule = `${what} has to be a text of up to 65,536 characters`;
    return { ...problem, message: `${rule}; it is not shown, since it may be a secret`, hint: 'put it in quotes' };
  }
  // A key with its value, `NAME=value`.
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
  written: WrittenSettings,
  place: SettingsPlace & { readonly environment: Environment },
): Promise<Settings> {
  const { base, environment } = place;
  const { id = 'main', api, management, webhook, repository, statuses, notifications = [], store, execution } = written;
  const { page = {}, shutdownSeconds = 25, log, audit } = written;
  const recorded = fillInStore(store, place);
  const { directory } = recorded;
  const retry = { ...RETRY, ...execution?.retry };
  const concurrency = execution?.concurrency ?? 50;
  const inherited = { base, directory, concurrency, retry, searchPath: environment.PATH };
  const followed = fillInRepository(repository, base, environment);
  return {
    id,
    api: fillInApi(api, base),
    management: { host: '127.0.0.1', port: 9080, dashboard: false, ...management },
    webhook: webhook === undefined ? null : fillInWebhook(webhook, base),
    page: fillInPage(page, { repository: followed, forge: statuses?.kind }),
    repository: followed,
    statuses: statuses === undefined ? null : fillInStatuses(statuses, { base, repository: followed }),
    notifications: notifications.map((one) => fillInNotification(one, base)),
    store: recorded,
    replica: fillInReplica(written.replica),
    execution: {
      concurrency,
      retry,
      deleteBudget: { ...DELETE_BUDGET, ...execution?.deleteBudget },
      graceSeconds: execution?.graceSeconds ?? 30,
      providers: await Promise.all((execution?.providers ?? []).map((provider) => fillInProvider(provider, inherited))),
      // Its calls run elsewhere, and take no capacity of this controller.
      proxied: { ...PROXIED_DEFAULTS, ...execution?.proxied, name: PROXIED, concurrency, retry },
    },
    shutdownSeconds,
    log: { level: log?.level ?? 'info' },
    audit: audit === undefined ? null : { file: resolve(base, audit.file) },
  };
}

function fillInApi(
  { host = '127.0.0.1', port = 8443, proxyReads = 'all', requestsPerSecond = 1_000, tls }: WrittenSettings['api'],
  base: string,
): Settings['api'] {
  const { key, cert, clientCa, crl } = tls;
  const files = { key: resolve(base, key), cert: resolve(base, cert), clientCa: resolve(base, clientCa) };
  return {
    host,
    port,
    proxyReads,
    requestsPerSecond,
    tls: { ...files, crl: crl === undefined ? null : resolve(base, crl) },
  };
}

function fillInWebhook(
  { host = '127.0.0.1', port = 9081, secretFile }: NonNullable<WrittenSettings['webhook']>,
  base: string,
): Settings['webhook'] {
  return { host, port, secretFile: resolve(base, secretFile) };
}

function fillInNotification(
  { name, url, secretFile, caFile, instances = ['*'], kinds = NOTIFICATION_KINDS }: WrittenNotification,
  base: string,
): NotificationTarget {
  const authorities = caFile === undefined ? null : resolve(base, caFile);
  return { ...{ name, url, instances, kinds }, secretFile: resolve(base, secretFile), caFile: authorities };
}

function fillInRepository(written: WrittenRepository, base: string, environment: Environment): RepositorySettings {
  const { verify, sign } = written;
  const pathOf = (file: string | undefined): string | null => (file === undefined ? null : resolve(base, file));
  const placeOf = (variable: string, file: string | undefined): SecretPlace | null => {
    if ((environment[variable] ?? '') !== '') return { kind: 'variable', name: variable };
    return file === undefined ? null : { kind: 'file', path: resolve(base, file) };
  };
  return {
    url: absoluteUrl(written.url, base),
    branch: written.branch ?? 'main',
    directory: written.directory ?? '.',
    pollSeconds: written.pollSeconds ?? 30,
    writes: written.writes ?? 'commit',
    access: {
      username: placeOf('TREELINE_GIT_USERNAME', written.usernameFile),
      password: placeOf('TREELINE_GIT_PASSWORD', written.passwordFile),
      caFile: pathOf(written.caFile),
    },
    verify:
      verify === undefined ? null : { allowedSigners: pathOf(verify.allowedSigners), keyring: pathOf(verify.keyring) },
    sign: sign === undefined ? null : { sshKeyFile: resolve(base, sign.sshKeyFile) },
  };
}

/** Returns a path as an absolute one. A URL is unchanged, even if it is refused elsewhere. */
function absoluteUrl(url: string, base: string): string {
  return url.includes(':') ? url : resolve(base, url);
}
