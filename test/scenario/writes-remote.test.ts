// Writing to a remote that fails at every stage of a push: no envelope lies, nothing is committed twice, reads go on, and it
// heals when the remote does.
import { describe, expect, it } from 'vitest';
import type { JsonMap } from '../../src/model/json.ts';
import type { Exchange, Misbehaviour } from '../support/git-http-server.ts';
import { expectIntact, logOf, requestIdOf } from '../support/written-history.ts';
import { subjectsOf, upAndWritingOverHttp } from './writing.ts';

const reset: Misbehaviour = ({ request }) => {
  request.socket.resetAndDestroy();
  return true;
};

function status(code: number): Misbehaviour {
  return ({ response }) => {
    response.writeHead(code).end('<p>no');
    return true;
  };
}

/** A proxy that answers itself. */
const page: Misbehaviour = ({ response }) => {
  response.writeHead(200, { 'content-type': 'text/html' }).end('<!DOCTYPE html>\n<title>Sign in</title>\n');
  return true;
};

/** Git does its work, and something happens to its answer. */
function afterwards(misbehaviour: Misbehaviour): Misbehaviour {
  return async (exchange) => {
    await exchange.answer();
    return await misbehaviour(exchange);
  };
}

const half: Misbehaviour = async ({ answer, response }) => {
  const { headers, body } = await answer();
  response.writeHead(200, { ...headers, 'content-length': String(body.length) });
  response.write(body.subarray(0, body.length / 2), () => response.destroy());
  return true;
};

type Stage = 'list' | 'push' | 'poll';

const STAGES: Readonly<Record<Stage, (exchange: Exchange) => boolean>> = {
  list: ({ stage, request }) => stage === 'advertisement' && (request.url ?? '').includes('receive-pack'),
  push: ({ stage, request }) => stage === 'result' && (request.url ?? '').includes('receive-pack'),
  poll: ({ request }) => (request.url ?? '').includes('upload-pack'),
};

/** A failure, its stage, and the answer to the client: the code of the error, or `Created`. */
type Failure = readonly [name: string, where: Stage, how: Misbehaviour, told: string];

// Each fails once, and the next request of its kind is answered. If a connection breaks, or a password is refused, git repeats the request once.
const ONCE: readonly Failure[] = [
  ['the branch cannot be looked at: dropped', 'poll', reset, 'Created'],
  ['the branch cannot be looked at: 500', 'poll', status(500), 'not_ready'],
  ['dropped before anything is sent', 'list', reset, 'Created'],
  ['401 before anything is sent', 'list', status(401), 'Created'],
  ['403 before anything is sent', 'list', status(403), 'push_refused'],
  ['500 before anything is sent', 'list', status(500), 'not_ready'],
  ['a page before anything is sent', 'list', page, 'not_ready'],
  ['dropped with the commits', 'push', reset, 'Created'],
  ['401 for the commits', 'push', status(401), 'Created'],
  ['403 for the commits', 'push', status(403), 'Created'],
  ['500 for the commits', 'push', status(500), 'Created'],
  ['a page for the commits', 'push', page, 'Created'],
  ['done, and the answer is lost', 'push', afterwards(reset), 'Created'],
  ['done, and half of the answer is lost', 'push', half, 'Created'],
  ['done, and the answer is 500', 'push', afterwards(status(500)), 'Created'],
  ['done, and the answer is 502', 'push', afterwards(status(502)), 'Created'],
  ['done, and the answer is a page', 'push', afterwards(page), 'Created'],
];

describe('a remote that fails once', () => {
  it('in one way after the other, is never lied about', async () => {
    // The write is to meet the failure, and not a poll beside it.
    const scene = await upAndWritingOverHttp({ pollSeconds: 3600 });
    const { site, server, running, base, write } = scene;
    const created: string[] = [];
    for (const [index, [name, where, how, told]] of ONCE.entries()) {
      let isDue = true;
      // A write asks where the branch is only if somebody else has moved it.
      if (where === 'poll') await site.repository.commit({ 'outside.txt': name });
      server.misbehave = async (exchange) => {
        if (!isDue || !STAGES[where](exchange)) return false;
        isDue = false;
        return await how(exchange);
      };
      const writing = write('/types/role/', { body: { name: 'web', revision: index } });
      const reads = await Promise.all([running.get('/types/role/web/'), running.get('/hiera/printer/')]);
      expect(
        reads.map((reply) => reply.status),
        name,
      ).toEqual([200, 200]);
      const reply = await writing;
      const { error, message } = reply.body as JsonMap;
      expect([name, error ?? message, isDue]).toEqual([name, told, false]);
      expect(await subjectsOf(scene, reply), name).toEqual(told === 'Created' ? ['Set role web'] : []);
      const { body } = await running.get('/types/role/web/');
      if (told === 'Created') expect(body, name).toMatchObject({ revision: index });
      else expect(body, name).not.toMatchObject({ revision: index });
      if (told === 'Created') created.push(requestIdOf(reply));
      server.misbehave = undefined;
    }
    expect((await write('/types/role/', { body: { name: 'web', revision: 'healed' } })).status).toBe(201);
    const log = await logOf(site.repository, `${base}..main`);
    const written = log.map(({ requestId }) => requestId).filter((id) => id !== '');
    expect(written.slice(0, -1)).toEqual(created);
    await expectIntact(site.repository);
  }, 120_000);

  it('after it took the commits is not needed to follow them: they are here', async () => {
    const { server, running, write } = await upAndWritingOverHttp();
    let isPushed = false;
    server.misbehave = async (exchange) => {
      isPushed ||= STAGES.push(exchange);
      return isPushed && STAGES.poll(exchange) && (await reset(exchange));
    };
    expect((await write('/types/role/', { body: { name: 'web', port: 81 } })).status).toBe(201);
    expect((await running.get('/types/role/web/')).body).toMatchObject({ port: 81 });
  });

  it('after it took the commits, whose answer is lost, is waited for until it tells of them', async () => {
    const { server, running, write } = await upAndWritingOverHttp();
    let isPushed = false;
    let polls = 0;
    server.misbehave = async (exchange) => {
      if (STAGES.push(exchange) && !isPushed) {
        isPushed = true;
        return await afterwards(reset)(exchange);
      }
      if (!isPushed || (!STAGES.poll(exchange) && !STAGES.list(exchange)) || polls === 3) return false;
      polls += 1;
      return await reset(exchange);
    };
    expect((await write('/types/role/', { body: { name: 'web', port: 81 } })).status).toBe(201);
    expect(polls).toBe(3);
    expect((await running.get('/types/role/web/')).body).toMatchObject({ port: 81 });
  });
});

it('a remote that is down is told at once, reads go on, and writes go on when it is back', async () => {
  const { site, server, running, base, write } = await upAndWritingOverHttp();
  await server.stop();
  const writing = [1, 2, 3].map((port) => write('/types/role/', { body: { name: `role-${port}`, port } }));
  for (const reply of await Promise.all(writing)) {
    expect(reply).toMatchObject({ status: 503, body: { error: 'not_ready', return_code: 503 } });
    expect(reply.headers['retry-after']).toBe('5');
  }
  expect((await running.get('/hiera/printer/paper/')).body).toBe('a4');
  expect(running.controller.ready()).toBe(true);
  await server.start();
  expect((await write('/types/role/', { body: { name: 'role-1', port: 1 } })).status).toBe(201);
  expect(await logOf(site.repository, `${base}..main`)).toHaveLength(1);
});
