// Reads the settings `store` and `replica`: fills in defaults, and finds what does not fit together, and which URL of a
// database cannot be used. No message shows that URL: it may hold a password.
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { reasonOf } from '../base/wording.ts';
import { below, type Fault } from '../model/entry.ts';
import type { ReplicaSettings, StoreSettings } from '../model/settings.ts';
import { readDatabaseUrl } from '../store/postgres/database-url.ts';
import { StoreError } from '../store/store-error.ts';
import { type Environment, type PlacedFault, settingAt } from './refuse-settings.ts';

/** The settings as they are written, in the shape that the schema allows. */
export interface WrittenStore {
  readonly kind?: StoreSettings['kind'];
  readonly directory?: string;
  readonly url?: string;
  readonly urlFile?: string;
  readonly caFile?: string;
  readonly poolSize?: number;
}

/** The facts from which the defaults come. */
interface Inherited {
  /** The settings file, and its directory. */
  readonly file: string;
  readonly base: string;
  readonly environment: Environment;
}

const VARIABLE = 'TREELINE_STORE_URL';
const POOL_SIZE = 4;
const LEASE_SECONDS = 10;
const NAME_LENGTH_MAX = 63;
const DATABASE_KEYS = ['url', 'urlFile', 'caFile', 'poolSize'];

/**
 * Returns the setting with its defaults and absolute paths. A URL that is missing, which is a fault of its own, is ''.
 */
export function fillInStore(written: WrittenStore = {}, { file, base, environment }: Inherited): StoreSettings {
  const { url, urlFile, caFile, poolSize = POOL_SIZE } = written;
  const directory = resolve(base, written.directory ?? 'state');
  if (kindOf(written.kind, environment) === 'lowdb') return { kind: 'lowdb', directory };
  const ca = caFile === undefined ? null : resolve(base, caFile);
  const shared = { kind: 'postgres', directory, caFile: ca, poolSize } as const;
  if (hasVariable(environment)) return { ...shared, url: { kind: 'variable', name: VARIABLE } };
  if (urlFile !== undefined) return { ...shared, url: { kind: 'file', path: resolve(base, urlFile) } };
  return { ...shared, url: { kind: 'settings', url: url ?? '', file } };
}

/** Returns the setting with its defaults. */
export function fillInReplica(written: Partial<ReplicaSettings> = {}): ReplicaSettings {
  const { name = hostName(), address = null, leaseSeconds = LEASE_SECONDS } = written;
  return { name, address, leaseSeconds };
}

/** Returns the name of this machine, in the characters of a replica's name. */
function hostName(): string {
  const name = hostname()
    .replaceAll(/[^A-Za-z0-9._-]/g, '-')
    .replace(/^[._-]+/, '');
  return name.slice(0, NAME_LENGTH_MAX) || 'replica';
}

/** Returns what keeps a store from working. `settings` may have any shape. */
export function faultsOfStore(settings: unknown, environment: Environment): readonly PlacedFault[] {
  const at = (key: string): unknown => settingAt(settings, ['store', key]);
  const written = at('kind');
  if (written !== undefined && written !== 'lowdb' && written !== 'postgres') return [];
  const given = DATABASE_KEYS.filter((key) => at(key) !== undefined);
  if (kindOf(written, environment) === 'lowdb') {
    const useless = given.map((key) => placed(key, noEffect(`"${key}"`, 'leave it out, or write kind: postgres')));
    const hint = 'unset it, or write kind: postgres';
    const contradicted = placed('kind', { ...noEffect(`the environment variable ${VARIABLE}`, hint), part: 'value' });
    return hasVariable(environment) ? [...useless, contradicted] : useless;
  }
  const hasCa = at('caFile') !== undefined;
  if (at('url') !== undefined && at('urlFile') !== undefined) {
    const message = 'a store "postgres" has "url" or "urlFile", not both';
    return [placed('urlFile', { code: 'no_effect', message, hint: 'leave one of them out', part: 'key' })];
  }
  if (hasVariable(environment)) {
    const fault = urlFault(environment[VARIABLE] ?? '', hasCa);
    const message = `the environment variable ${VARIABLE}: ${fault?.message}`;
    return fault === undefined ? [] : [{ pointer: '', fault: { ...fault, message } }];
  }
  const url = at('url');
  if (typeof url === 'string' && url !== '') {
    const fault = urlFault(url, hasCa);
    return fault === undefined ? [] : [placed('url', fault)];
  }
  if (url !== undefined || at('urlFile') !== undefined) return [];
  const message = 'a store "postgres" needs the field "urlFile"';
  const hint = `add "urlFile:", the file that holds the URL of the database, or set ${VARIABLE}`;
  return [{ pointer: '/store', fault: { code: 'missing_field', message, hint } }];
}

/** Where the settings name no kind, a URL in the environment says which. */
function kindOf(written: StoreSettings['kind'] | undefined, environment: Environment): StoreSettings['kind'] {
  return written ?? (hasVariable(environment) ? 'postgres' : 'lowdb');
}

function hasVariable(environment: Environment): boolean {
  return (environment[VARIABLE] ?? '').trim() !== '';
}

function placed(key: string, fault: Fault): PlacedFault {
  return { pointer: below('/store', key), fault };
}

function noEffect(what: string, hint: string): Fault {
  return { code: 'no_effect', message: `${what} has no effect on a store "lowdb"`, hint, part: 'key' };
}

function urlFault(text: string, hasCa: boolean): Fault | undefined {
  try {
    const { isEncrypted } = readDatabaseUrl(text.trim(), hasCa);
    if (isEncrypted || !hasCa) return undefined;
    const message = 'the URL of the database has sslmode=disable, so "caFile" has no effect';
    return { code: 'no_effect', message, hint: 'leave one of them out' };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return { code: 'wrong_value', message: reasonOf(error) };
  }
}
