// Builds the request that sets a commit status at a forge. Sources: GitHub "Create a commit status", GitLab "Set commit
// pipeline status", Gitea and Forgejo "Create a commit status".
import type { CommitStatus } from '../model/rows.ts';
import type { StatusesSettings } from '../model/settings.ts';
import type { Posting } from './post-once.ts';
import type { WantedStatus } from './wanted-statuses.ts';

interface Forge {
  readonly states: Readonly<Record<CommitStatus['state'], string>>;
  /** False: a status that is pending is refused another time. */
  readonly takesProgress: boolean;
  readonly headers: (token: string) => Readonly<Record<string, string>>;
  readonly path: (project: string, commit: string) => string;
  /** The field that names the status. */
  readonly nameField: string;
  readonly takesBranch: boolean;
}

/** GitHub refuses a request without a name of the program. */
const COMMON_HEADERS = { 'content-type': 'application/json', 'user-agent': 'treeline' };
const DESCRIPTION_MAX = 140;

const FORGES: Readonly<Record<StatusesSettings['kind'], Forge>> = {
  github: {
    states: { 'in progress': 'pending', success: 'success', failure: 'failure', superseded: 'success' },
    takesProgress: true,
    headers: (token) => ({
      accept: 'application/vnd.github+json',
      authorization: `Bearer ${token}`,
      'x-github-api-version': '2022-11-28',
    }),
    path: repositoryPath,
    nameField: 'context',
    takesBranch: false,
  },
  gitlab: {
    states: { 'in progress': 'running', success: 'success', failure: 'failed', superseded: 'canceled' },
    takesProgress: false,
    headers: (token) => ({ accept: 'application/json', 'private-token': token }),
    path: (project, commit) => `/projects/${encodeURIComponent(project)}/statuses/${encodeURIComponent(commit)}`,
    nameField: 'name',
    takesBranch: true,
  },
  gitea: {
    states: { 'in progress': 'pending', success: 'success', failure: 'failure', superseded: 'success' },
    takesProgress: true,
    headers: (token) => ({ accept: 'application/json', authorization: `token ${token}` }),
    path: repositoryPath,
    nameField: 'context',
    takesBranch: false,
  },
};

/** Returns the request that sets a status; its headers hold the token. `id` is that of the controller. */
export function forgeRequest(
  { commit, context, state, description }: WantedStatus,
  { settings, id, token }: { readonly settings: StatusesSettings; readonly id: string; readonly token: string },
): Omit<Posting, 'secret'> {
  const { kind, apiUrl, project, branch, targetUrl } = settings;
  const { states, headers, path, nameField, takesBranch } = FORGES[kind];
  const fields = {
    state: states[state],
    [nameField]: `treeline/${id}/${context}`,
    description: description.slice(0, DESCRIPTION_MAX),
    ...(targetUrl === null ? {} : { target_url: targetUrl }),
    ...(takesBranch ? { ref: branch } : {}),
  };
  return {
    target: new URL(`${apiUrl}${path(project, commit)}`),
    headers: { ...COMMON_HEADERS, ...headers(token) },
    body: JSON.stringify(fields),
  };
}

/** Returns true if the forge shows another description of a status that is pending already. */
export function takesProgress(kind: StatusesSettings['kind']): boolean {
  return FORGES[kind].takesProgress;
}

function repositoryPath(project: string, commit: string): string {
  const segments = project.split('/').map(encodeURIComponent).join('/');
  return `/repos/${segments}/statuses/${encodeURIComponent(commit)}`;
}
