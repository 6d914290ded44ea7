// A comment API on a port of this machine, as GitHub, Gitea and GitLab have it as far as the pipelines of contrib/ use it:
// listing in pages, creating, updating, and refusing a token that may not write.
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenInTest } from '../support/listen-in-test.ts';

/** A comment as the API has it. */
export interface Comment {
  readonly id: number;
  readonly author: string;
  body: string;
}

/** How an API names things. */
interface Dialect {
  readonly list: string;
  readonly one: RegExp;
  readonly update: string;
  readonly tokenHeader: string;
  readonly present: (comment: Comment) => unknown;
}

const DIALECTS = {
  github: {
    list: '/repos/org/stacks/issues/7/comments',
    one: /^\/repos\/org\/stacks\/issues\/comments\/(\d+)$/,
    update: 'PATCH',
    tokenHeader: 'authorization',
    present: ({ id, author, body }) => ({ id, body, user: { login: author } }),
  },
  gitlab: {
    list: '/projects/3/merge_requests/7/notes',
    one: /^\/projects\/3\/merge_requests\/7\/notes\/(\d+)$/,
    update: 'PUT',
    tokenHeader: 'private-token',
    present: ({ id, author, body }) => ({ id, body, author: { id: author } }),
  },
} as const satisfies Record<string, Dialect>;

/** The token that may read and write; another one may only read. */
export const WRITE_TOKEN = 'may-write';

/** A running API. */
export interface CommentApi {
  readonly url: string;
  readonly comments: Comment[];
  /** The requests in their order, such as `POST /repos/org/stacks/issues/7/comments`. */
  readonly requests: string[];
}

/** Starts an API that is stopped when the test ends. Comments that it creates are written by `author`. */
export async function startCommentApi(dialect: keyof typeof DIALECTS, author: string): Promise<CommentApi> {
  const comments: Comment[] = [];
  const requests: string[] = [];
  const rules: Dialect = DIALECTS[dialect];
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    requests.push(`${request.method} ${pathname}`);
    const sent = await text(request);
    const body: { readonly body: string } | undefined = sent === '' ? undefined : JSON.parse(sent);
    const mayWrite = String(request.headers[rules.tokenHeader]).endsWith(WRITE_TOKEN);
    const { status, answer } = answerOf();
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));

    function answerOf(): { readonly status: number; readonly answer: unknown } {
      if (request.method === 'GET' && pathname === '/user') return { status: 200, answer: { id: author } };
      if (request.method === 'GET' && pathname === rules.list) {
        const size = Number(searchParams.get('per_page'));
        const start = (Number(searchParams.get('page')) - 1) * size;
        return { status: 200, answer: comments.slice(start, start + size).map(rules.present) };
      }
      const one = comments.find(({ id }) => String(id) === rules.one.exec(pathname)?.[1]);
      const isCreate = request.method === 'POST' && pathname === rules.list;
      if (!isCreate && (request.method !== rules.update || one === undefined)) return { status: 404, answer: {} };
      if (!mayWrite || body === undefined) return { status: 403, answer: {} };
      if (one !== undefined) one.body = body.body;
      else comments.push({ id: comments.length + 1, author, body: body.body });
      return { status: isCreate ? 201 : 200, answer: {} };
    }
  });
  return { url: `http://127.0.0.1:${await listenInTest(server)}`, comments, requests };
}
