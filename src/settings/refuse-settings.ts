// Refuses conflicting settings that the schema allows, because a silently ignored key would mislead the operator.
import { isLoopback } from '../base/http-request.ts';
import { below, type Fault } from '../model/entry.ts';
import { fieldOf, isMap } from '../model/json.ts';
import { checkEncryption, parseRepositoryUrl, type RepositoryUrl } from '../repository/repository-url.ts';
import { SourceError } from '../repository/source.ts';

/** A fault, and the pointer to the value. */
export interface PlacedFault {
  readonly pointer: string;
  readonly fault: Fault;
}

/** The variables of the environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

const SECRET_KEYS = ['usernameFile', 'passwordFile'];
const SECRET_VARIABLES = ['TREELINE_GIT_USERNAME', 'TREELINE_GIT_PASSWORD'];

/** The advice for a key that concerns HTTP, by the kind of the repository's URL. */
const NOT_ASKED: Readonly<Record<RepositoryUrl['kind'], string>> = {
  http: 'leave it out, or write https://',
  local: 'leave it out: a local repository is read with the rights of the user that runs Treeline',
  ssh: 'leave it out: ssh takes keys and known hosts from ~/.ssh',
};

/** Returns the unsupported requests in settings and environment. `settings` may have any shape. */
export function findRefusals(settings: unknown, environment: Environment): readonly PlacedFault[] {
  return [...refuseOpenDashboard(settings), ...refuseUrl(settings, environment)];
}

/** The dashboard does not authenticate, so no other machine may reach it. */
function refuseOpenDashboard(settings: unknown): PlacedFault[] {
  const host = settingAt(settings, ['management', 'host']);
  if (settingAt(settings, ['management', 'dashboard']) !== true || typeof host !== 'string') return [];
  if (isLoopback(host) || host === '::1') return [];
  const message = `the dashboard needs no certificate, and "${host}" can be reached from other machines`;
  const hint =
    'leave "host" out, or leave "dashboard" out: /ui/ of the API listener shows the same page, with a client certificate';
  return [{ pointer: '/management/dashboard', fault: { code: 'wrong_value', message, hint } }];
}

function refuseUrl(settings: unknown, environment: Environment): PlacedFault[] {
  const url = settingAt(settings, ['repository', 'url']);
  if (typeof url !== 'string' || url === '') return [];
  const hasSecret =
    SECRET_KEYS.some((key) => settingAt(settings, ['repository', key]) !== undefined) ||
    SECRET_VARIABLES.some((name) => (environment[name] ?? '') !== '');
  try {
    const place = parseRepositoryUrl(url);
    if (place.kind === 'http') checkEncryption(place.url, hasSecret);
    return refuseAccess(settings, place);
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    return [{ pointer: '/repository/url', fault: { code: 'wrong_value', message: error.message } }];
  }
}

/** Refuses an unused password. */
function refuseAccess(settings: unknown, url: RepositoryUrl): PlacedFault[] {
  return [...SECRET_KEYS, 'caFile'].flatMap((key) => {
    const steps = ['repository', key];
    const isOf = url.kind === 'http' && (key !== 'caFile' || url.url.startsWith('https:'));
    if (isOf || settingAt(settings, steps) === undefined) return [];
    const message = `"${key}" has no effect on a repository with this "url"`;
    return [
      { pointer: below('', ...steps), fault: { code: 'no_effect', message, hint: NOT_ASKED[url.kind], part: 'key' } },
    ];
  });
}

/** Returns the value at a path of keys in a value of any shape; undefined if there is none. */
export function settingAt(value: unknown, steps: readonly string[]): unknown {
  return steps.reduce<unknown>((parent, step) => (isMap(parent) ? fieldOf(parent, step) : undefined), value);
}

/** Returns a list with the fault at a pointer; empty if there is no fault. */
export function placedFault(
  fault: Fault | undefined,
  pointer: string,
  ...keys: readonly (string | number)[]
): readonly PlacedFault[] {
  return fault === undefined ? [] : [{ pointer: below(pointer, ...keys), fault }];
}

/** The use of an address, in words. */
interface AddressUse {
  readonly what: string;
  /** What is sent to the address. */
  readonly sent: string;
  readonly takesQuery: boolean;
  /** Where to configure its secret instead. */
  readonly instead: string;
}

/** Returns why an address cannot be used. The message does not repeat it, since it may contain a password. */
export function addressFault(text: string, { what, sent, takesQuery, instead }: AddressUse): Fault | undefined {
  const code = 'wrong_value';
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    return { code, message: `this cannot be the address of ${what}`, hint: 'write https://HOST/PATH' };
  }
  const hasMore = url.username !== '' || url.password !== '' || url.hash !== '';
  if (hasMore || (url.search !== '' && !takesQuery)) {
    const parts = takesQuery ? 'no user, no password and no "#"' : 'no user, no password, no "?" and no "#"';
    return { code, message: `the address of ${what} has ${parts}`, hint: instead };
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    const message = `${sent} would go to "${url.host}" unencrypted`;
    return { code, message, hint: 'write https:// (caFile names the authority of a private certificate)' };
  }
  return undefined;
}
