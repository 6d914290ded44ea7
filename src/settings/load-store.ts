// Reads the setting `store`: finds the URL of the database, and reports conflicts and invalid URLs. No message contains
// the URL, because it may contain a password.
import { reasonOf } from '../base/wording.ts';
import { below, type Fault } from '../model/entry.ts';
import type { StoreSettings } from '../model/settings.ts';
import { readDatabaseUrl } from '../store/postgres/database-url.ts';
import { StoreError } from '../store/store-error.ts';
import { type Environment, type PlacedFault, settingAt } from './refuse-settings.ts';

/** The setting, completed by the schema. */
export interface WrittenStore {
  readonly kind: StoreSettings['kind'] | null;
  readonly directory: string;
  readonly url: string | null;
  readonly urlFile: string | null;
  readonly caFile: string | null;
  readonly poolSize: number;
}

const VARIABLE = 'TREELINE_STORE_URL';
const DATABASE_KEYS = ['url', 'urlFile', 'caFile', 'poolSize'];

/**
 * Returns the setting with the place of the URL, which may be in the settings `file`. A missing place, a fault, is
 * ''.
 */
export function fillInStore(
  { kind, directory, url, urlFile, caFile, poolSize }: WrittenStore,
  { file, environment }: { readonly file: string; readonly environment: Environment },
): StoreSettings {
  if (kindOf(kind, environment) === 'lowdb') return { kind: 'lowdb', directory };
  const shared = { kind: 'postgres', directory, caFile, poolSize } as const;
  if (hasVariable(environment)) return { ...shared, url: { kind: 'variable', name: VARIABLE } };
  if (urlFile !== null) return { ...shared, url: { kind: 'file', path: urlFile } };
  return { ...shared, url: { kind: 'settings', url: url ?? '', file } };
}

/** Returns the faults of the store. `settings` may have any shape. */
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
  const hint = `add "urlFile:", the file with the URL of the database, or set ${VARIABLE}`;
  return [{ pointer: '/store', fault: { code: 'missing_field', message, hint } }];
}

/** If the settings name no kind, a URL in the environment means `postgres`. */
function kindOf(written: StoreSettings['kind'] | null | undefined, environment: Environment): StoreSettings['kind'] {
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
