// Reads the settings `statuses` and `page`: derives omitted forge, project and links from the repository's URL, and
// reports the faults of addresses.
import { quote } from '../base/wording.ts';
import type { Fault } from '../model/entry.ts';
import type { PageSettings, RepositorySettings, StatusesSettings } from '../model/settings.ts';
import { directorySteps, parseRepositoryUrl } from '../repository/repository-url.ts';
import { SourceError } from '../repository/source.ts';
import { addressFault, type PlacedFault, placedFault } from './refuse-settings.ts';

type Forge = StatusesSettings['kind'];

/** The setting `statuses`, completed by the schema. */
export interface WrittenStatuses extends Omit<StatusesSettings, 'apiUrl' | 'project' | 'branch'> {
  readonly apiUrl: string | null;
  readonly project: string | null;
}

/** The address of the repository at the forge. */
interface Home {
  /** Without a trailing slash. */
  readonly origin: string;
  readonly hostname: string;
  /** Without a leading slash and without `.git`. */
  readonly path: string;
}

const GITHUB = 'github.com';
const GITHUB_API = 'https://api.github.com';
/** The paths of the APIs of forges, after their origin. */
const API_PATHS: Readonly<Record<Forge, string>> = {
  github: '/api/v3',
  gitlab: '/api/v4',
  gitea: '/api/v1',
};
const SCP_LIKE = /^(?:[^@/]*@)?(?<host>\[[^\]]*\]|[^:/]+):(?<path>.*)$/;
const SEGMENT = String.raw`(?!\.{1,2}(?:/|$))[^\s/?#%\\]+`;
const OWNER_AND_NAME = new RegExp(`^${SEGMENT}/${SEGMENT}$`);
const PATH_OR_NUMBER = new RegExp(`^(?:[0-9]+|${SEGMENT}(?:/${SEGMENT})+)$`);

/** Returns the setting with values from the repository's URL; '' if the URL does not contain a value. */
export function fillInStatuses(written: WrittenStatuses, { url, branch }: RepositorySettings): StatusesSettings {
  const home = findHome(url);
  const apiUrl = (written.apiUrl ?? defaultApi(written.kind, home)).replace(/\/+$/, '');
  return { ...written, apiUrl, project: written.project ?? home?.path ?? '', branch };
}

function defaultApi(kind: Forge, home: Home | undefined): string {
  if (home === undefined) return '';
  if (kind === 'github' && home.hostname === GITHUB) return GITHUB_API;
  return `${home.origin}${API_PATHS[kind]}`;
}

/** Returns undefined for a local repository and for an invalid URL, which is reported elsewhere. */
function findHome(text: string): Home | undefined {
  try {
    const { kind, ...place } = parseRepositoryUrl(text);
    if (kind === 'local' || !('url' in place)) return undefined;
    return kind === 'http' ? homeOfHttp(new URL(place.url)) : homeOfSsh(place.url);
  } catch (error) {
    if (error instanceof SourceError) return undefined;
    throw error;
  }
}

function homeOfHttp({ origin, hostname, pathname }: URL): Home {
  return { origin, hostname, path: projectIn(pathname) };
}

/** Drops the port of ssh, which is not that of the API. */
function homeOfSsh(text: string): Home | undefined {
  const url = text.includes('://') ? URL.parse(text) : null;
  const { host, path } = SCP_LIKE.exec(text)?.groups ?? {};
  const hostname = url?.hostname ?? host;
  if (hostname === undefined) return undefined;
  return { origin: `https://${hostname}`, hostname, path: projectIn(url?.pathname ?? path ?? '') };
}

function projectIn(path: string): string {
  return path
    .replace(/^\/+/, '')
    .replace(/\/+$/, '')
    .replace(/\.git$/, '');
}

/** Returns the faults that prevent sending statuses. Does not repeat an address that may contain a password. */
export function faultsOfStatuses(statuses: StatusesSettings | null): readonly PlacedFault[] {
  if (statuses === null) return [];
  const { apiUrl, targetUrl } = statuses;
  return [
    ...placed('apiUrl', apiUrl === '' ? missing('apiUrl', `such as ${exampleOf(statuses)}`) : apiFault(apiUrl)),
    ...placed('project', projectFault(statuses)),
    ...placed('targetUrl', targetUrl === null ? undefined : targetFault(targetUrl)),
  ];
}

/** A missing field has no place of its own. */
function placed(key: string, fault: Fault | undefined): readonly PlacedFault[] {
  return placedFault(fault, '/statuses', ...(fault?.code === 'missing_field' ? [] : [key]));
}

function missing(key: string, words: string): Fault {
  const message = `"${key}" is missing, and the "url" of the repository does not contain it`;
  return { code: 'missing_field', message, hint: `add "${key}:", ${words}` };
}

function apiFault(text: string): Fault | undefined {
  const instead = 'put the token into tokenFile';
  return addressFault(text, { what: 'an API', sent: 'the token', takesQuery: false, instead });
}

function exampleOf({ kind }: StatusesSettings): string {
  return kind === 'github' ? GITHUB_API : `https://HOST${API_PATHS[kind]}`;
}

function projectFault({ kind, project }: StatusesSettings): Fault | undefined {
  if (project === '') return missing('project', 'the path of the repository at the forge');
  if ((kind === 'gitlab' ? PATH_OR_NUMBER : OWNER_AND_NAME).test(project)) return undefined;
  const hint = kind === 'gitlab' ? 'write GROUP/PROJECT, or its number in quotes' : 'write OWNER/NAME';
  return { code: 'wrong_value', message: `${quote(project)} cannot be the path of a repository at "${kind}"`, hint };
}

function targetFault(text: string): Fault | undefined {
  const url = URL.parse(text);
  const isPage = url !== null && ['http:', 'https:'].includes(url.protocol);
  if (isPage && url.username === '' && url.password === '') return undefined;
  const message = 'this cannot be the address of a page, or it contains a user or a password';
  return { code: 'wrong_value', message, hint: 'write https://HOST/PATH' };
}

/** The setting `page`, completed by the schema. */
export interface WrittenPage {
  readonly colour: string | null;
  readonly links: PageSettings['links'] | null;
}

/** The paths of a commit and of a line at a forge, relative to the repository. */
const PATHS: Readonly<Record<Forge, { readonly commit: string; readonly file: string }>> = {
  github: { commit: '/commit/{commit}', file: '/blob/{commit}/' },
  gitlab: { commit: '/-/commit/{commit}', file: '/-/blob/{commit}/' },
  gitea: { commit: '/commit/{commit}', file: '/src/commit/{commit}/' },
};

/** Returns the setting with its links; null if unknown. */
export function fillInPage(
  page: WrittenPage | null,
  { repository, forge }: { readonly repository: RepositorySettings; readonly forge: Forge | undefined },
): PageSettings {
  const { commit, file } = linksTo(repository, forge);
  const { colour = null, links } = page ?? {};
  return { colour, links: { commit: links?.commit ?? commit, file: links?.file ?? file } };
}

function linksTo({ url, directory }: RepositorySettings, given: Forge | undefined): PageSettings['links'] {
  const home = findHome(url);
  const forge = given ?? (home && forgeOf(home));
  if (home === undefined || forge === undefined) return { commit: null, file: null };
  const { commit, file } = PATHS[forge];
  const page = `${home.origin}/${home.path}`;
  // A directory outside the repository is reported elsewhere.
  const folder = directory.startsWith('/') || directory.includes('..') ? [] : directorySteps(directory);
  const steps = folder.map((step) => `${encodeURIComponent(step)}/`).join('');
  return { commit: page + commit, file: `${page}${file}${steps}{path}#L{line}` };
}

/** Returns the forge by the name of its host; undefined if unknown. */
function forgeOf({ hostname }: Home): Forge | undefined {
  if (hostname === 'codeberg.org') return 'gitea';
  const [, found] = /(?:^|[.-])(github|gitlab|gitea|forgejo)(?:[.-]|$)/.exec(hostname) ?? [];
  return found === 'forgejo' ? 'gitea' : (found as Forge | undefined);
}
