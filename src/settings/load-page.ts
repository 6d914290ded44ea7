// Reads the setting `page`: takes the links to commits and files from the repository's URL where they are left out.
import type { PageSettings, RepositorySettings, StatusesSettings } from '../model/settings.ts';
import { directorySteps } from '../repository/repository-url.ts';
import { findHome, type Home } from './load-statuses.ts';

/** The setting as it is written, in the shape that the schema allows. */
export interface WrittenPage {
  readonly colour?: string;
  readonly links?: WrittenLinks;
}

interface WrittenLinks {
  readonly commit?: string;
  readonly file?: string;
}

type Forge = StatusesSettings['kind'];

/** The addresses of a commit and of a line at a forge, after that of the repository. */
const PATHS: Readonly<Record<Forge, { readonly commit: string; readonly file: string }>> = {
  github: { commit: '/commit/{commit}', file: '/blob/{commit}/' },
  gitlab: { commit: '/-/commit/{commit}', file: '/-/blob/{commit}/' },
  gitea: { commit: '/commit/{commit}', file: '/src/commit/{commit}/' },
};

/** Returns the setting with links that are null if they are not known. */
export function fillInPage(
  { colour, links = {} }: WrittenPage,
  { repository, forge }: { readonly repository: RepositorySettings; readonly forge: Forge | undefined },
): PageSettings {
  const { commit, file } = { ...linksTo(repository, forge), ...links };
  return { colour: colour ?? null, links: { commit: commit ?? null, file: file ?? null } };
}

function linksTo({ url, directory }: RepositorySettings, given: Forge | undefined): WrittenLinks {
  const home = findHome(url);
  const forge = given ?? (home && forgeOf(home));
  if (home === undefined || forge === undefined) return {};
  const { commit, file } = PATHS[forge];
  const page = `${home.origin}/${home.path}`;
  // A directory that leaves the repository is refused elsewhere.
  const folder = directory.startsWith('/') || directory.includes('..') ? [] : directorySteps(directory);
  const steps = folder.map((step) => `${encodeURIComponent(step)}/`).join('');
  return { commit: page + commit, file: `${page}${file}${steps}{path}#L{line}` };
}

/** Returns the forge that the name of a host says. */
function forgeOf({ hostname }: Home): Forge | undefined {
  if (hostname === 'codeberg.org') return 'gitea';
  const [, found] = /(?:^|[.-])(github|gitlab|gitea|forgejo)(?:[.-]|$)/.exec(hostname) ?? [];
  return found === 'forgejo' ? 'gitea' : (found as Forge | undefined);
}
