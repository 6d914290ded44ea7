// A forge that takes commit statuses over HTTPS, as GitHub, GitLab or Gitea do, and refuses what they refuse. It may be told to
// misbehave.
import { writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { StatusesSettings } from '../../src/model/settings.ts';
import { serveInTest } from './listen-in-test.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export const FORGE_TOKEN = 'forge-token-1';

interface ForgeRequest {
  readonly method: string;
  /** As it was sent. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A status that was accepted. */
interface ShownStatus {
  readonly commit: string;
  /** Such as `treeline/main/apply`. */
  readonly name: string;
  readonly state: string;
  readonly description: string;
}

export interface FakeForge {
  readonly settings: StatusesSettings;
  readonly requests: readonly ForgeRequest[];
  /** The accepted ones, in order. */
  readonly statuses: readonly ShownStatus[];
  /** The token that it accepts. */
  token: string;
  /** Answers in place of the forge if it returns true. */
  script: (request: ForgeRequest, response: ServerResponse) => boolean;
  /** Returns the states of a status of a commit, in order. */
  statesOf(commit: string, context: 'validate' | 'apply'): readonly string[];
}

/** The shape of the API of each forge. */
const APIS = {
  github: { path: /^\/repos\/infra\/stacks\/statuses\/([^/]+)$/, base: '', name: 'context' },
  gitea: { path: /^\/api\/v1\/repos\/infra\/stacks\/statuses\/([^/]+)$/, base: '/api/v1', name: 'context' },
  gitlab: { path: /^\/api\/v4\/projects\/infra%2Fstacks\/statuses\/([^/]+)$/, base: '/api/v4', name: 'name' },
} as const;
const STATES = {
  github: ['error', 'failure', 'pending', 'success'],
  gitea: ['error', 'failure', 'pending', 'success', 'warning'],
  gitlab: ['pending', 'running', 'success', 'failed', 'canceled', 'skipped'],
};

/** Starts a forge that does not outlive the running test. `host` is the name in its certificate and address. */
export async function startFakeForge(kind: StatusesSettings['kind'], host = '127.0.0.1'): Promise<FakeForge> {
  const tokenFile = join(temporaryDirectory(), 'token');
  writeFileSync(tokenFile, `${FORGE_TOKEN}\n`);
  const requests: ForgeRequest[] = [];
  const statuses: ShownStatus[] = [];
  const { port, caFile } = await serveInTest(async (incoming, response) => {
    const { method = '', url: path = '', headers } = incoming;
    const request = { method, path, headers, body: JSON.parse((await text(incoming)) || '{}') };
    requests.push(request);
    if (forge.script(request, response)) return;
    const answer = take(request);
    response.writeHead(answer, { 'content-type': 'application/json' }).end('{"message":"answered"}');
  }, host);
  const api = APIS[kind];
  const forge: FakeForge = {
    settings: {
      kind,
      apiUrl: `https://${host}:${port}${api.base}`,
      project: 'infra/stacks',
      branch: 'main',
      tokenFile,
      caFile,
      targetUrl: 'https://treeline.example/ui/',
    },
    requests,
    statuses,
    token: FORGE_TOKEN,
    script: () => false,
    statesOf: (commit, context) =>
      statuses.filter((each) => each.commit === commit && each.name.endsWith(context)).map(({ state }) => state),
  };

  /** Returns the status of the answer. */
  function take({ method, path, headers, body }: ForgeRequest): number {
    if (!isAllowed(kind, headers, forge.token)) return 401;
    const commit = api.path.exec(path)?.[1];
    if (method !== 'POST' || commit === undefined) return 404;
    const { state, description } = body;
    const name = body[api.name];
    if (typeof name !== 'string' || typeof description !== 'string' || typeof state !== 'string') return 422;
    if (!STATES[kind].includes(state) || description.length > 140) return 422;
    const last = statuses.findLast((each) => each.commit === commit && each.name === name);
    if (kind === 'gitlab' && state === 'running' && last?.state === 'running') return 400;
    statuses.push({ commit, name, state, description });
    return 201;
  }
  return forge;
}

function isAllowed(kind: StatusesSettings['kind'], headers: IncomingHttpHeaders, token: string): boolean {
  if (kind === 'gitlab') return headers['private-token'] === token;
  if (kind === 'gitea') return headers.authorization === `token ${token}`;
  return headers.authorization === `Bearer ${token}` && headers['user-agent'] !== undefined;
}
