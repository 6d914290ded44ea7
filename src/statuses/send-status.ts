// Sends one commit status and returns the result. No message contains the token or text of the forge.
// Sources: GitHub "Create a commit status", GitLab "Set commit pipeline status", Gitea and Forgejo "Create a commit
// status".
import type { Clock } from '../base/clock.ts';
import type { HttpHead } from '../base/http-request.ts';
import { readSecretFile } from '../base/secrets.ts';
import type { CommitStatus } from '../model/rows.ts';
import type { StatusesSettings } from '../model/settings.ts';
import { type Attempt, type Posting, postOnce, waitMs } from './post-once.ts';
import type { WantedStatus } from './wanted-statuses.ts';

/** Sends one status. Never throws. */
export type SendStatus = (status: WantedStatus, signal: AbortSignal) => Promise<Attempt>;

/** The wait that GitHub documents for a rate limit without an end in the answer. */
const RATE_LIMIT_WAIT_MS = 60_000;
/** The characters of a token, all of which a header may contain. */
const TOKEN = /^[\x21-\x7e]+$/;

/** The reasons by status of the answer. */
const REASONS: Readonly<Record<number, string>> = {
  400: 'the forge refuses the status (400)',
  401: 'the forge does not accept the token (401): check statuses.tokenFile, and whether the token has expired',
  403: 'the token may not set commit statuses (403): check its scope, and the role of its user',
  404: 'the forge does not have that project or commit, or hides it from this token (404): check statuses.project',
  409: 'the forge refuses the status for now (409)',
  422: 'the forge refuses the status, or does not have the commit yet (422)',
};
const REFUSED: ReadonlySet<number> = new Set([400, 404, 409, 413, 422]);

/** Returns the function that sends statuses to a forge. `id`: the id of the controller. */
export function createSendStatus(
  settings: StatusesSettings,
  { id, clock }: { readonly id: string; readonly clock: Clock },
): SendStatus {
  const { caFile } = settings;
  return async (status, signal) => {
    const build = async (): Promise<Posting> => {
      const token = await readToken(settings.tokenFile);
      return { ...forgeRequest(status, { settings, id, token }), secret: token };
    };
    const post = { whom: 'the forge', caFile, caSetting: 'statuses.caFile', build, clock, signal };
    const answered = await postOnce(post);
    return 'isAccepted' in answered ? answered : readAttempt(answered, { status, settings, clock });
  };
}

interface Answered {
  readonly status: WantedStatus;
  readonly settings: StatusesSettings;
  readonly clock: Clock;
}

function readAttempt({ status: code, headers }: HttpHead, { status, settings, clock }: Answered): Attempt {
  const wait = waitMs(headers, clock.now());
  // GitLab refuses to set a status to its current value, for example after a lost answer.
  const isThere = settings.kind === 'gitlab' && code === 400 && status.state === 'in progress';
  if (isThere || (code >= 200 && code < 300)) {
    return { isAccepted: true, answer: String(code), isOnlyThis: false, waitMs: undefined };
  }
  // GitHub also answers 403 for both of its rate limits.
  if (code === 429 || (code === 403 && (wait !== undefined || headers['x-ratelimit-remaining'] === '0'))) {
    const answer = `the forge accepts no more requests for now (${code}): its rate limit is used up; the token is valid`;
    return { isAccepted: false, answer, isOnlyThis: false, waitMs: wait ?? RATE_LIMIT_WAIT_MS };
  }
  return { isAccepted: false, answer: reasonFor(code), isOnlyThis: REFUSED.has(code), waitMs: wait };
}

function reasonFor(code: number): string {
  if (code >= 300 && code < 400) {
    return `the forge redirects (${code}), and redirects are not followed: check statuses.apiUrl`;
  }
  return REASONS[code] ?? `the forge answered ${code}`;
}

async function readToken(path: string): Promise<string> {
  const token = (await readSecretFile(path, 'statuses.tokenFile')).toString();
  if (!TOKEN.test(token)) throw new Error(`statuses.tokenFile ${path} must contain only the token, on one line`);
  return token;
}

interface Forge {
  readonly states: Readonly<Record<CommitStatus['state'], string>>;
  /** False if the forge refuses a second status that is in progress. */
  readonly takesProgress: boolean;
  readonly headers: (token: string) => Readonly<Record<string, string>>;
  readonly path: (project: string, commit: string) => string;
  /** The field that names the status. */
  readonly nameField: string;
  readonly takesBranch: boolean;
}

/** GitHub requires a user agent. */
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

/** Returns the request that sets a status. Its headers contain the token. `id`: the id of the controller. */
function forgeRequest(
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

/** Returns true if the forge accepts a new description of a status that is in progress. */
export function takesProgress(kind: StatusesSettings['kind']): boolean {
  return FORGES[kind].takesProgress;
}

function repositoryPath(project: string, commit: string): string {
  const segments = project.split('/').map(encodeURIComponent).join('/');
  return `/repos/${segments}/statuses/${encodeURIComponent(commit)}`;
}
