// Many writes, one branch, and a remote that does what it likes: no answer is a guess, and nothing is committed twice.
import { describe, expect, it } from 'vitest';
import { withoutPause } from '../../src/base/breathe.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import type { PushOutcome } from '../../src/repository/publisher.ts';
import type { Draft, WriteOrder } from '../../src/service/write/draft.ts';
import {
  deleteClientDraft,
  deleteObjectDraft,
  putClientDraft,
  putObjectDraft,
} from '../../src/service/write/drafts.ts';
import { type BeforePush, GIVE_UP_MS } from '../../src/service/write/pending-write.ts';
import { WriteQueue } from '../../src/service/write/write-queue.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { type PushStep, ScriptedRemote } from '../support/scripted-remote.ts';
import { ADMINISTRATOR } from './service.ts';

const FILES = { 'tree.yaml': 'name: global\ntype: common\n', 'types/role/web.yaml': 'port: 80\n' };
const WEB = 'types/role/web.yaml';
const OTHER = { ...ADMINISTRATOR, serial: 'D4' };

class Scene {
  readonly remote = new ScriptedRemote(FILES);
  readonly clock = new ManualClock();
  readonly queue: WriteQueue;
  #count = 0;

  constructor(mode: 'commit' | 'propose' = 'commit', leads?: () => boolean) {
    const { remote, clock } = this;
    this.queue = new WriteQueue({
      branch: remote,
      source: remote,
      publisher: remote,
      clock,
      breathe: withoutPause,
      mode,
      leads,
    });
  }

  /** Resolves with what the client is told: the commit, or the code and message of the refusal. */
  readonly submit = async (
    draft: Draft,
    more: Partial<Pick<WriteOrder, 'by' | 'ifMatch' | 'ifNoneMatch' | 'refusal'>> & { beforePush?: BeforePush } = {},
  ): Promise<string | null> => {
    this.#count += 1;
    const order = {
      by: more.by ?? ADMINISTRATOR,
      refusal: more.refusal ?? (() => undefined),
      requestId: `request-${this.#count}`,
      ifMatch: more.ifMatch,
      ifNoneMatch: more.ifNoneMatch,
    };
    try {
      const { commit, branch } = await this.queue.submit(draft, order, more.beforePush);
      return branch === null ? commit : `${commit} on ${branch}`;
    } catch (error) {
      if (error instanceof ServiceError) return `${error.code}: ${error.message}`;
      throw error;
    }
  };

  /** Lets time pass until the answer is there, a second after the other. */
  readonly patiently = async <Value>(answer: Promise<Value>): Promise<Value> => {
    let isThere = false;
    void answer.finally(() => {
      isThere = true;
    });
    for (let second = 0; second < 120 && !isThere; second += 1) {
      await settled();
      if (!isThere) this.clock.advance(1_000);
    }
    return await answer;
  };
}

/** Resolves when everything that can go on without time has gone on. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

function put(name: string, port: number): Draft {
  return putObjectDraft('role', { name, port });
}

/** A place where something waits until it is let go. */
function gate(): { readonly wait: () => Promise<void>; readonly reached: Promise<void>; readonly open: () => void } {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const wait = (): Promise<void> => {
    reached.resolve();
    return opened.promise;
  };
  return { wait, reached: reached.promise, open: () => opened.resolve() };
}

describe('a process that sleeps until its lease is over', () => {
  const DEPOSED = 'not_ready: The repository cannot be reached: this replica no longer leads; nothing was written';

  it('pushes nothing', async () => {
    const { remote, submit } = new Scene('commit', () => false);
    expect(await submit(put('a', 1))).toBe(DEPOSED);
    expect(remote.pushes).toEqual([]);
  });
});

describe('waiting writes', () => {
  it('are pushed together, each as its own commit, in order', async () => {
    const { remote, submit } = new Scene();
    const answers = await Promise.all(['a', 'b', 'c'].map((name, index) => submit(put(name, index))));
    expect(answers).toEqual(['write-1', 'write-2', 'write-3']);
    expect(remote.pushes).toEqual([['write-1', 'write-2', 'write-3']]);
    expect(remote.written).toEqual(['Set role a', 'Set role b', 'Set role c']);
  });

  it('are at most fifty in a push', async () => {
    const { remote, submit, patiently } = new Scene();
    const writes = Array.from({ length: 60 }, (_, index) => submit(put(`role-${index}`, index)));
    await patiently(Promise.all(writes));
    expect(remote.pushes.map(({ length }) => length)).toEqual([50, 10]);
    expect(remote.written).toHaveLength(60);
  });

  it('are checked on top of earlier ones', async () => {
    const { remote, submit } = new Scene();
    const answers = await Promise.all([put('a', 1), put('a', 2), put('a', 2)].map((draft) => submit(draft)));
    expect(answers).toEqual(['write-1', 'write-2', null]);
    expect(remote.head.catalog.files.get('types/role/a.yaml')?.object).toMatchObject({ port: 2 });
  });

  it('are pushed one by one if the push is refused', async () => {
    const { remote, submit } = new Scene();
    const hook = (push: Parameters<ScriptedRemote['take']>[0]): PushOutcome | boolean => {
      const isBad = push.commits.some((commit) => remote.made(commit).message.startsWith('Set role bad'));
      if (isBad) return { is: 'refused', reason: 'no bad roles' };
      return remote.take(push);
    };
    remote.steps.push(...Array.from({ length: 30 }, () => hook));
    const names = ['a', 'b', 'bad', 'c', 'd'];
    const answers = await Promise.all(names.map((name) => submit(put(name, 1))));
    expect(answers.filter((answer) => answer?.startsWith('write-'))).toHaveLength(4);
    expect(answers[2]).toBe('push_refused: no bad roles');
    expect(remote.written).toEqual(['a', 'b', 'c', 'd'].map((name) => `Set role ${name}`));
    expect(remote.pushes.map(({ length }) => length)).toEqual([5, 1, 1, 1, 1, 1]);
  });
});

describe('a lost race', () => {
  it('repeats all checks on the other commit', async () => {
    const { remote, submit } = new Scene();
    remote.outside({ 'types/clientcert/printer.yaml': 'paper: a4\n' });
    remote.steps.push(() => {
      remote.outside({ 'types/clientcert/printer.yaml': 'paper: a4\nrole: web\n' });
      return false;
    });
    expect(await submit(deleteObjectDraft('role', 'web'))).toMatch(/^conflict: .*web/);
    expect(remote.written).toEqual([]);
  });

  it('ends after 15 s without a write', async () => {
    const { remote, submit, clock } = new Scene();
    let others = 0;
    remote.onPoll = () => {
      remote.steps.push(() => {
        others += 1;
        remote.outside({ other: String(others) });
        clock.advance(400);
        return false;
      });
    };
    expect(await submit(put('a', 1))).toMatch(/^not_ready: .*within 15 s; nothing was written$/);
    expect(others).toBe(38);
    expect(remote.written).toEqual([]);
  });
});

it('a write ends after 15 s while the batch before takes longer', async () => {
  const { submit, clock } = new Scene();
  const recording = Promise.withResolvers<() => Promise<void>>();
  const first = submit(put('a', 1), { beforePush: () => recording.promise });
  await new Promise(setImmediate);
  const second = submit(put('b', 1));
  clock.advance(GIVE_UP_MS);
  expect(await second).toMatch(/^not_ready: .*within 15 s; nothing was written$/);
  recording.resolve(async () => undefined);
  expect(await first).toBe('write-1');
});

describe('an author who loses the right to write', () => {
  const CLIENTS = { 'clients/A1.yaml': 'role: administrator\n', 'clients/B2.yaml': 'role: administrator\n' };
  const GONE = 'client_not_registered: no B2';
  /** Asks as the interface does, for a client of the serial B2. */
  const refusal: WriteOrder['refusal'] = (registry) =>
    registry?.('B2') === undefined ? new ServiceError('client_not_registered', 'no B2') : undefined;

  function registered(): Scene {
    const scene = new Scene();
    scene.remote.outside(CLIENTS);
    return scene;
  }

  it('by an earlier write of the batch writes nothing', async () => {
    const { remote, submit } = registered();
    const answers = await Promise.all([
      submit(put('a', 1), { refusal }),
      submit(deleteClientDraft('B2')),
      submit(put('b', 1), { refusal }),
      submit(putClientDraft({ serial: 'B2', role: 'administrator' }), { refusal }),
      submit(put('web', 80), { refusal }),
    ]);
    expect(answers).toEqual(['write-1', 'write-2', GONE, GONE, GONE]);
    expect(remote.written).toEqual(['Set role a', 'Remove client B2']);
  });

  it.each(['newest', 'followed'])('by the commit that wins the race writes nothing; %s', async (known) => {
    const { remote, submit } = registered();
    const old = remote.head;
    if (known === 'followed') remote.known = () => old;
    remote.steps.push(() => {
      remote.outside({ 'clients/B2.yaml': null });
      return false;
    });
    expect(await submit(put('a', 1), { refusal })).toBe(GONE);
    expect(remote.written).toEqual([]);
  });

  it('while its write waits writes nothing', async () => {
    const { remote, submit } = registered();
    const first = gate();
    remote.steps.push(async (push) => {
      await first.wait();
      return remote.take(push);
    });
    let isRevoked = false;
    const answers = [submit(put('a', 1))];
    await first.reached;
    const revoked = new ServiceError('unauthorized', 'revoked');
    answers.push(submit(put('b', 1), { refusal: () => (isRevoked ? revoked : undefined) }));
    isRevoked = true;
    first.open();
    expect(await Promise.all(answers)).toEqual(['write-1', 'unauthorized: revoked']);
    expect(remote.written).toEqual(['Set role a']);
  });
});

describe('without listing the remote', () => {
  /** Returns a scene in which the followed commit is the head before an outsider pushed. */
  function behind(changes: Record<string, string>): Scene {
    const scene = new Scene();
    const old = scene.remote.head;
    scene.remote.known = () => old;
    scene.remote.outside(changes);
    return scene;
  }

  function upToDate(): Scene {
    const scene = new Scene();
    scene.remote.known = () => scene.remote.head;
    return scene;
  }

  it('a commit is pushed, and the push shows whether the branch exists', async () => {
    const { remote, submit } = upToDate();
    expect(await Promise.all([submit(put('a', 1)), submit(put('b', 1))])).toEqual(['write-1', 'write-2']);
    expect(await submit(put('c', 1))).toBe('write-3');
    expect([remote.looks, remote.pushes.length]).toEqual([0, 2]);
  });

  it('no answer is given that does not depend on a push', async () => {
    const { remote, submit } = upToDate();
    expect(await submit(put('web', 80))).toBe(null);
    expect(await submit(deleteObjectDraft('role', 'none'))).toMatch(/^not_found/);
    expect([remote.looks, remote.pushes.length]).toEqual([2, 0]);
  });

  it('no write is refused that another commit made valid', async () => {
    const { remote, submit } = behind({ 'types/role/db.yaml': 'port: 5432\n' });
    expect(await submit(deleteObjectDraft('role', 'db'))).toBe('write-1');
    expect(remote.looks).toBe(1);
  });
});

describe('If-Match', () => {
  const oidOf = ({ head }: ScriptedRemote): string => head.catalog.files.get(WEB)?.oid ?? '';

  it('replaces only the named version', async () => {
    const { remote, submit } = new Scene();
    const ifMatch = [oidOf(remote)];
    expect(await submit(put('web', 81), { ifMatch: ['other', ...ifMatch] })).toBe('write-1');
    expect(await submit(put('web', 82), { ifMatch })).toMatch(/^precondition_failed: role\/web/);
    expect(await submit(put('web', 83), { ifMatch: ['*'] })).toBe('write-2');
    expect(await submit(put('new', 1), { ifMatch: ['*'] })).toMatch(/^precondition_failed/);
    const ifNoneMatch = ['*'];
    expect(await submit(put('web', 81), { ifNoneMatch })).toBe(
      'precondition_failed: role/web exists already, which If-None-Match rules out',
    );
    expect(await submit(put('new', 1), { ifNoneMatch })).toBe('write-3');
  });
});

const UNKNOWN = /^outcome_unknown: It is not known .* the connection broke off; .*Treeline-Request-Id: request-1"/;
const UNREACHABLE = /^not_ready: The repository cannot be reached: nothing listens there; nothing was written$/;
const SET = ['Set role a'];

describe('a push', () => {
  it.each<[string, steps: (remote: ScriptedRemote) => PushStep[], answer: RegExp, pushes: string[], written: string[]]>(
    [
      ['whose answer is lost is looked up, and not repeated', () => ['lose'], /^write-1$/, ['write-1'], SET],
      ['that did not arrive repeats the same commit', () => ['drop'], /^write-1$/, ['write-1', 'write-1'], SET],
      [
        'that arrives late below another commit is not committed twice',
        (remote) => [
          'drop',
          (push) => {
            // The first one is through now, and somebody else is on top: git would say that the branch has moved.
            remote.take(push);
            remote.outside({ other: 'x' });
            return false;
          },
        ],
        /^write-1$/,
        ['write-1', 'write-1'],
        SET,
      ],
      ['is unknown if the next one is refused', () => ['drop', ...Array(100).fill('refuse')], UNKNOWN, [], []],
      ['is unknown if the next one fails', () => ['drop', ...Array(100).fill('fail')], UNKNOWN, [], []],
      ['to an unreachable repository writes nothing', () => ['fail'], UNREACHABLE, ['write-1'], []],
      [
        'that loses a race is decided again',
        (remote) => [
          () => {
            remote.outside({ 'types/role/db.yaml': 'port: 5432\n' });
            return false;
          },
        ],
        /^write-2$/,
        ['write-1', 'write-2'],
        SET,
      ],
    ],
  )('%s, and later writes go on', async (_what, steps, answer, pushes, written) => {
    const { remote, submit, patiently } = new Scene();
    remote.steps.push(...steps(remote));
    expect(await patiently(submit(put('a', 1)))).toMatch(answer);
    if (pushes.length > 0) expect(remote.pushes).toEqual(pushes.map((commit) => [commit]));
    expect(remote.written).toEqual(written);
    remote.steps.length = 0;
    expect(await submit(put('b', 1))).toMatch(/^write-\d+$/);
    expect(remote.written).toEqual([...written, 'Set role b']);
  });
});

describe('a commit that arrived', () => {
  it('is answered when this server follows it, also after several polls', async () => {
    const { remote, submit, patiently } = new Scene();
    let looks = 0;
    remote.onArrival = () => {
      looks += 1;
      if (looks < 3) throw new ServiceError('not_ready', 'the repository cannot be followed');
    };
    expect(await patiently(submit(put('a', 1)))).toBe('write-1');
    expect(looks).toBe(3);
  });

  it.each([
    ['conflict', 1],
    ['not_ready', 15],
  ] as const)('and cannot be seen here (%s) is told as that, never as if nothing was written', async (code, looks) => {
    const { remote, submit, patiently } = new Scene();
    let count = 0;
    remote.onArrival = () => {
      count += 1;
      throw new ServiceError(code, 'the reason');
    };
    const answers = await patiently(Promise.all([submit(put('a', 1)), submit(put('a', 1))]));
    for (const answer of answers) {
      expect(answer).toMatch(/^outcome_unknown: Committed as write-1, but this server .*: the reason; look for "Tree/);
    }
    expect(count).toBe(looks);
    expect(remote.written).toEqual(['Set role a']);
  });
});

describe('a repository that', () => {
  it('is not followed refuses writes with the reason', async () => {
    const { remote, submit } = new Scene();
    remote.onPoll = () => {
      throw new ServiceError('conflict', 'The newest commit is not followed: the history was rewritten');
    };
    expect(await submit(put('a', 1))).toMatch(/^conflict: .*the history was rewritten$/);
  });

  it('fails unexpectedly does not block later writes', async () => {
    const { remote, submit } = new Scene();
    remote.steps.push(() => {
      throw new TypeError('a mistake of ours');
    });
    await expect(submit(put('a', 1))).rejects.toThrow('a mistake of ours');
    expect(await submit(put('b', 1))).toBe('write-2');
  });
});

describe('before the push', () => {
  it.each([
    ['none', 'take', 'commit', []],
    ['web', 'refuse', 'commit', ['recorded', 'taken back']],
    ['web', 'fail', 'commit', ['recorded', 'taken back']],
    ['web', 'take', 'commit', ['recorded']],
    ['web', 'lose', 'commit', ['recorded']],
    ['web', 'take', 'propose', []],
  ] as const)('a delete of %s records, and takes back only what is certainly not there (%s, %s)', async (...row) => {
    const [name, step, mode, expected] = row;
    const { remote, submit, patiently } = new Scene(mode);
    const log: string[] = [];
    const beforePush: BeforePush = async () => {
      expect(remote.pushes).toEqual([]);
      log.push('recorded');
      return async () => void log.push('taken back');
    };
    remote.steps.push(step);
    await patiently(submit(deleteObjectDraft('role', name), { beforePush }));
    expect(log).toEqual(expected);
  });
});

describe('a write', () => {
  it('is refused if a hundred writes of its client wait, but not for others', async () => {
    const { remote, submit } = new Scene();
    const first = gate();
    remote.onPoll = first.wait;
    const under = submit(put('a', 1));
    await first.reached;
    const waiting = Array.from({ length: 100 }, () => submit(put('b', 1)));
    expect(await submit(put('c', 1))).toMatch(/^too_many_requests: 100 writes of this client wait already/);
    const other = submit(put('d', 1), { by: OTHER });
    first.open();
    expect([await under, await other]).toEqual(['write-1', expect.stringMatching(/^write-/)]);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([null, 'write-2']));
    expect(remote.written).toEqual(['Set role a', 'Set role b', 'Set role d']);
  });
});

describe('a stop', () => {
  it('waits for a running push, and refuses waiting and later writes', async () => {
    const { remote, submit, queue } = new Scene();
    const push = gate();
    remote.steps.push(async (prepared) => {
      await push.wait();
      return remote.take(prepared);
    });
    const under = submit(put('a', 1));
    await push.reached;
    const waiting = submit(put('b', 1));
    const stopped = queue.stop(5_000);
    expect(await waiting).toBe('not_ready: The controller is stopping; nothing was written');
    expect(await submit(put('c', 1))).toBe('not_ready: The controller is stopping; nothing was written');
    push.open();
    expect(await under).toBe('write-1');
    await stopped;
    expect(remote.written).toEqual(['Set role a']);
  });

  it('waits for a limited time, and then answers outcome_unknown', async () => {
    const { remote, submit, clock, queue } = new Scene();
    const push = gate();
    remote.steps.push(async (prepared) => {
      await push.wait();
      return remote.take(prepared);
    });
    const under = submit(put('a', 1));
    await push.reached;
    const stopped = queue.stop(5_000);
    clock.advance(5_000);
    await stopped;
    expect(await under).toMatch(/^outcome_unknown: The controller stopped .*request-1"/);
  });
});

describe('a proposal', () => {
  it('is pushed to its own branch, and does not change the followed one', async () => {
    const { remote, submit } = new Scene('propose');
    const answers = await Promise.all([put('a', 1), put('a', 2)].map((draft) => submit(draft)));
    expect(answers).toEqual(['write-1 on treeline/role-a-request-', 'write-2 on treeline/role-a-request-']);
    expect(remote.pushes).toEqual([['write-1'], ['write-2']]);
    expect(remote.written).toEqual([]);
    expect(remote.proposals.get('treeline/role-a-request-')?.[0]?.message).toMatch(/^Set role a\n/);
  });
});
