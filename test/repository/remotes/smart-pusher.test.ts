// The pusher over transports that are less able, or fail earlier, than git's own.
import { describe, expect, it } from 'vitest';
import type { PreparedCommits } from '../../../src/repository/publisher.ts';
import { createLocalTransport } from '../../../src/repository/remotes/local-transport.ts';
import { SmartPusher } from '../../../src/repository/remotes/smart-pusher.ts';
import type { Transport } from '../../../src/repository/remotes/transport.ts';
import { SourceError } from '../../../src/repository/source.ts';
import { endingOf, publishTo } from '../../support/published-repository.ts';

const { signal } = new AbortController();

function orderOf({ base, commits, pack }: PreparedCommits) {
  return { branch: 'main', old: base, commit: String(commits.at(-1)), pack, signal };
}

/** Takes capabilities out of what is advertised. */
function without(transport: Transport, ...capabilities: readonly string[]): Transport {
  return {
    ...transport,
    async request(request) {
      const answer = await transport.request(request);
      if (request.method !== 'GET') return answer;
      const text = Buffer.concat(answer.body).toString('latin1');
      // Of the same length, so that the packet's own length stays right.
      const changed = capabilities.reduce((all, each) => all.replace(each, 'x'.repeat(each.length)), text);
      return { ...answer, body: [Buffer.from(changed, 'latin1')] };
    },
  };
}

describe('SmartPusher', () => {
  it('reads a report that shares its stream with nothing', async () => {
    const { repository, prepare, headOf } = await publishTo();
    const transport = createLocalTransport({ path: repository.path, answerBytesMax: 100_000 });
    const prepared = await prepare();
    expect(await new SmartPusher(without(transport, 'side-band-64k', 'quiet')).push(orderOf(prepared))).toEqual({
      is: 'pushed',
    });
    expect(await headOf()).toBe(prepared.commits[0]);
  });

  it('pushes nothing where nobody would tell what became of it', async () => {
    const { repository, prepare, headOf, base } = await publishTo();
    const transport = createLocalTransport({ path: repository.path, answerBytesMax: 100_000 });
    const pusher = new SmartPusher(without(transport, 'report-status-v2', 'report-status'));
    const ending = await endingOf(pusher.push(orderOf(await prepare())));
    expect(ending).toMatchObject({ is: 'refused', message: expect.stringMatching(/does not say what becomes/) });
    expect(await headOf()).toBe(base);
  });

  it('tells a request that failed before it was sent from one after it', async () => {
    const { repository, prepare } = await publishTo();
    const local = createLocalTransport({ path: repository.path, answerBytesMax: 100_000 });
    let isSent = false;
    const failing: Transport = {
      ...local,
      name: 'x',
      async request(request) {
        if (request.method === 'GET') return await local.request(request);
        if (isSent) request.sending?.();
        throw new SourceError('no way');
      },
    };
    const order = orderOf(await prepare());
    await expect(new SmartPusher(failing).push(order)).rejects.toThrow(/^no way$/);
    isSent = true;
    const reason = 'it is not known whether "x" took the push: no way';
    expect(await new SmartPusher(failing).push(order)).toEqual({ is: 'unknown', reason });
  });

  it('does not take an answer that is too long for one that was read', async () => {
    const { repository, prepare, headOf } = await publishTo();
    const prepared = await prepare();
    const wide = createLocalTransport({ path: repository.path, answerBytesMax: 100_000 });
    const narrow = createLocalTransport({ path: repository.path, answerBytesMax: 10 });
    const request: Transport['request'] = (one) => (one.method === 'GET' ? wide : narrow).request(one);
    const ending = await endingOf(new SmartPusher({ ...wide, request }).push(orderOf(prepared)));
    expect(ending).toMatchObject({ is: 'unknown', message: expect.stringMatching(/sends more than the 10 bytes/) });
    expect(['', prepared.base, ...prepared.commits]).toContain(await headOf());
  });
});
