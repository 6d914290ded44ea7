// A remote over HTTP that fails at every stage of a fetch: each time nothing changes, the message says why, and the next
// fetch makes up for it.
import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { followOverHttp } from '../../support/followed-repository.ts';
import type { Exchange, GitAnswer, Misbehaviour } from '../../support/git-http-server.ts';

/** Misbehaves at one stage only. */
function at(stage: Exchange['stage'], work: (exchange: Exchange) => unknown): Misbehaviour {
  return async (exchange) => {
    if (exchange.stage !== stage) return false;
    await work(exchange);
    return true;
  };
}

/** Sends git's answer with another body, as one that is whole. */
function altered(change: (body: Buffer) => Buffer) {
  return async ({ answer, response }: Exchange): Promise<void> => {
    const { status, headers, body } = await answer();
    response.writeHead(status, headers).end(change(body));
  };
}

/** Sends the beginning of git's answer, and then something happens to the connection. */
function brokenOff(what: (exchange: Exchange, answer: GitAnswer) => void, share = 0.5) {
  return async (exchange: Exchange): Promise<void> => {
    const answer = await exchange.answer();
    const { status, headers, body } = answer;
    exchange.response.writeHead(status, { ...headers, 'content-length': body.length });
    exchange.response.write(body.subarray(0, body.length * share), () => what(exchange, answer));
  };
}

function reset({ request }: Exchange): void {
  request.socket.resetAndDestroy();
}

function flip(body: Buffer): Buffer {
  const middle = Math.floor(body.length / 2);
  body.writeUInt8(body.readUInt8(middle) ^ 0x55, middle);
  return body;
}

const BROKE_OFF = /cannot be reached \(.*\): the connection broke off/;
const TYPE = { 'content-type': 'application/x-git-upload-pack-advertisement' };

describe.each(['advertisement', 'result'] as const)('when the %s', (stage) => {
  it.each<[string, (exchange: Exchange) => unknown, RegExp]>([
    ['is answered by a reset', reset, BROKE_OFF],
    ['is answered by a hang-up', ({ request }) => request.socket.end(), BROKE_OFF],
    [
      'breaks off after the headers',
      ({ request, response }) => {
        response.writeHead(200, { ...TYPE, 'content-length': 1000 }).flushHeaders();
        setImmediate(() => request.socket.destroy());
      },
      BROKE_OFF,
    ],
    ['breaks off in the middle', brokenOff(reset), BROKE_OFF],
    ['breaks off one byte before its end', brokenOff(reset, 0.999), BROKE_OFF],
    ['is empty', altered(() => Buffer.alloc(0)), /sends nothing where Git's answer belongs/],
    ['is no Git', altered(() => Buffer.from('\0\x01garbage')), /sends something that is not Git/],
    ['is no HTTP', ({ request }) => request.socket.end('SSH-2.0-OpenSSH_9\r\n'), /does not speak HTTP/],
    ['is of another kind', ({ response }) => response.writeHead(200).end('?'), /answers with something unnamed/],
  ])('%s', async (_, work, message) => {
    const { server, expectFailure, expectSuccess } = await followOverHttp();
    server.misbehave = at(stage, work);
    await expectFailure(message);
    server.misbehave = undefined;
    await expectSuccess();
  });

  it('is larger than the limit', async () => {
    const { server, expectFailure, expectSuccess } = await followOverHttp({ limits: { answerBytesMax: 1_000_000 } });
    server.misbehave = at(
      stage,
      // A million bytes more of what goes before the end of any answer: words for a person.
      altered((body) =>
        Buffer.concat([body.subarray(0, -4), Buffer.from('0006\x02.'.repeat(170_000)), body.subarray(-4)]),
      ),
    );
    await expectFailure(/sends more than the 1000000 bytes that are taken at once/);
    server.misbehave = undefined;
    await expectSuccess();
  });

  it('stops coming', async () => {
    const { server, expectFailure, expectSuccess } = await followOverHttp({ limits: { silenceMs: 1_500 } });
    server.misbehave = at(
      stage,
      brokenOff(() => undefined),
    );
    await expectFailure(/sent nothing for 1.5 s/);
    server.misbehave = undefined;
    await expectSuccess();
  });

  it('never begins', async () => {
    const { server, expectFailure, expectSuccess } = await followOverHttp({ limits: { silenceMs: 1_500 } });
    server.misbehave = at(stage, () => undefined);
    await expectFailure(/sent nothing for 1.5 s/);
    server.misbehave = undefined;
    await expectSuccess();
  });

  it('comes byte by byte until the time is over', async () => {
    const limits = { fetchMs: 2_000, silenceMs: 1_500 };
    const { server, expectFailure, expectSuccess } = await followOverHttp({ limits });
    server.misbehave = at(
      stage,
      brokenOff(({ response }, { body }) => {
        let next = body.length / 2;
        const timer = setInterval(() => response.write(body.subarray(next, ++next)), 50);
        response.on('close', () => clearInterval(timer));
      }),
    );
    await expectFailure(/did not answer within 2 s/);
    server.misbehave = undefined;
    await expectSuccess();
  });
});

describe('when the advertisement', () => {
  it('is cut off, and says that this is all', async () => {
    const { server, expectFailure, expectSuccess } = await followOverHttp();
    server.misbehave = at(
      'advertisement',
      altered((body) => body.subarray(0, body.length - 8)),
    );
    await expectFailure(/the list of branches that ".*" sent is cut off/);
    server.misbehave = undefined;
    await expectSuccess();
  });

  it('lists nothing, that is no reason to forget what is here', async () => {
    const { server, expectFailure, expectSuccess } = await followOverHttp();
    const nothing = Buffer.from('001e# service=git-upload-pack\n00000000');
    server.misbehave = at(
      'advertisement',
      altered(() => nothing),
    );
    await expectFailure(/has no commits yet/);
    server.misbehave = undefined;
    await expectSuccess();
  });

  it('is a refusal in the words of Git', async () => {
    const { server, expectFailure, expectSuccess } = await followOverHttp();
    const refusal = Buffer.from('001e# service=git-upload-pack\n0000001dERR access denied to all\n');
    server.misbehave = at(
      'advertisement',
      altered(() => refusal),
    );
    await expectFailure(/refuses: access denied/);
    server.misbehave = undefined;
    await expectSuccess();
  });

  it('names a commit that does not exist', async () => {
    const { server, head, expectFailure, expectSuccess } = await followOverHttp();
    server.misbehave = at(
      'advertisement',
      altered((body) => Buffer.from(body.toString('latin1').replaceAll(head, '1'.repeat(40)), 'latin1')),
    );
    await expectFailure(/refuses: upload-pack: not our ref 1{40}/);
    server.misbehave = undefined;
    await expectSuccess();
  });
});

describe('when the pack', () => {
  it.each<[string, (body: Buffer) => Buffer]>([
    ['is cut off, and says that this is all', (body) => body.subarray(0, body.length / 2)],
    ['has a flipped byte', flip],
    ['is left out', (body) => body.subarray(0, '0008NAK\n'.length)],
  ])('%s', async (_, change) => {
    const { server, expectFailure, expectSuccess } = await followOverHttp();
    server.misbehave = at('result', altered(change));
    await expectFailure(/is not whole, and was not taken|could not be read/);
    server.misbehave = undefined;
    await expectSuccess();
  });

  it('is the one of an earlier fetch, without the commit', async () => {
    const { server, repository, expectFailure } = await followOverHttp();
    let earlier: Buffer = Buffer.alloc(0);
    server.misbehave = at(
      'result',
      altered((body) => {
        earlier = Buffer.from(body);
        return flip(body);
      }),
    );
    await expectFailure(/could not be read: Pako error: |is not whole/);
    const head = await repository.commit({ late: '1' });
    server.misbehave = at(
      'result',
      altered(() => earlier),
    );
    await expectFailure(`commit ${head} itself did not arrive`);
  });
});

describe('a server', () => {
  it('that is gone, and comes back', async () => {
    const { server, expectFailure, expectSuccess } = await followOverHttp();
    await server.stop();
    await expectFailure(/cannot be reached \(connect ECONNREFUSED 127.0.0.1:\d+\): nothing listens there/);
    await server.start();
    await expectSuccess();
  });

  it('that accepts connections and says nothing', async () => {
    const { server, expectFailure } = await followOverHttp({ limits: { silenceMs: 1_500 } });
    await server.stop();
    const mute = createServer();
    await new Promise<void>((resolve) => mute.listen(server.port, '127.0.0.1', resolve));
    onTestFinished(() => void mute.close());
    await expectFailure(/sent nothing for 1.5 s/);
  });
});

describe('a branch', () => {
  it('that is deleted and made again', async () => {
    const { repository, head, expectFailure, expectSuccess } = await followOverHttp();
    await repository.git('branch', 'other');
    await repository.git('update-ref', '-d', 'refs/heads/main');
    await expectFailure(/has no branch "main" \(its branches: other\)/);
    await repository.git('update-ref', 'refs/heads/main', head);
    await expectSuccess();
  });

  it('whose history is rewritten is fetched: what that means is for others to say', async () => {
    const { repository, source, old } = await followOverHttp();
    const rewritten = await repository.commit({ keep: 'new' }, { parents: [] });
    expect((await source.fetch(old)).oid).toBe(rewritten);
    expect(await source.isAncestor(old, rewritten)).toBe(false);
  });
});

it.each(['advertisement', 'result'] as const)(
  'closing the source ends a fetch that waits for the %s',
  async (stage) => {
    const { server, source, old } = await followOverHttp();
    const { promise: asked, resolve } = Promise.withResolvers<unknown>();
    const { promise: hungUp, resolve: hangUp } = Promise.withResolvers<unknown>();
    server.misbehave = at(stage, ({ request }) => {
      request.socket.on('close', hangUp);
      resolve(undefined);
    });
    const fetching = expect(source.fetch(old)).rejects.toThrow('the source is closed');
    await asked;
    await source.close();
    await fetching;
    await hungUp;
  },
);

it('a fetch brings only what is new', async () => {
  const { server, expectSuccess, source } = await followOverHttp();
  let bytes = 0;
  server.misbehave = at('result', async ({ answer, response }) => {
    const { status, headers, body } = await answer();
    bytes = body.length;
    response.writeHead(status, headers).end(body);
  });
  await expectSuccess();
  expect(bytes).toBeGreaterThan(5_000);
  expect(server.requests.map(({ line }) => line).slice(-2)).toEqual([
    'GET /stacks.git/info/refs?service=git-upload-pack',
    'POST /stacks.git/git-upload-pack',
  ]);
  await source.fetch(null);
  expect(server.requests.at(-1)?.line).toBe('GET /stacks.git/info/refs?service=git-upload-pack');
});
