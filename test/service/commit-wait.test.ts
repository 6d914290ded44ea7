// Reads that wait for a commit: how long, how many, and what they are told when it does not come.
import { describe, expect, it } from 'vitest';
import type { DesiredState, RefusedCommit } from '../../src/desired/desired-state.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import { type CommitWait, createCommitWait, WAIT_MS, WAITS } from '../../src/service/read/commit-wait.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { TextRepository } from '../support/text-repository.ts';

const DESIRED: DesiredState = new TextRepository().commit({ 'tree.yaml': 'name: global\ntype: common\n' });
const HISTORY = ['a', 'b', 'c', 'd'];

class Scene {
  readonly clock = new ManualClock();
  readonly wait: CommitWait;
  followed: string | undefined = 'b';
  refused: RefusedCommit | undefined;
  /** One for each commit that was waited for. */
  readonly polls: PromiseWithResolvers<DesiredState>[] = [];
  /** Which git was asked. */
  readonly questions: string[] = [];

  constructor() {
    this.wait = createCommitWait({
      clock: this.clock,
      desired: () => (this.followed === undefined ? undefined : { ...DESIRED, commit: this.followed }),
      refused: () => this.refused,
      isAncestor: async (ancestor, descendant) => {
        this.questions.push(`${ancestor} ${descendant}`);
        return HISTORY.includes(ancestor) && HISTORY.indexOf(ancestor) <= HISTORY.indexOf(descendant);
      },
      newest: () => {
        const poll = Promise.withResolvers<DesiredState>();
        this.polls.push(poll);
        return poll.promise;
      },
    });
  }

  /** Resolves to what a read that waits is told. */
  async reached(commit: string, client = 'ab'): Promise<string> {
    try {
      await this.wait.reached(commit, client);
      return 'reached';
    } catch (error) {
      if (error instanceof ServiceError) return `${error.code}: ${error.message}`;
      throw error;
    }
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < 20; turn += 1) await this.clock.nextTurn();
  }
}

const NOT_FOLLOWED = new ServiceError('conflict', 'The newest commit d is not followed');

describe('a read that waits for a commit', () => {
  it.each(['a', 'b'])('continues immediately if %s or a later one is followed', async (commit) => {
    const scene = new Scene();
    expect(await scene.reached(commit)).toBe('reached');
    expect(scene.polls).toHaveLength(0);
  });

  it('continues when it is followed', async () => {
    const scene = new Scene();
    const told = scene.reached('c');
    await scene.settle();
    expect(scene.polls).toHaveLength(1);
    scene.followed = 'c';
    scene.polls[0]?.resolve(DESIRED);
    expect(await told).toBe('reached');
  });

  it('ends after ten seconds', async () => {
    const scene = new Scene();
    const told = scene.reached('c');
    await scene.settle();
    scene.clock.advance(WAIT_MS);
    expect(await told).toBe('not_ready: The commit c is not followed yet; try again');
    expect(scene.clock.pending).toBe(0);
  });

  it('ends immediately if the branch has no such commit', async () => {
    const scene = new Scene();
    const told = scene.reached('x');
    await scene.settle();
    scene.polls[0]?.reject(NOT_FOLLOWED);
    expect(await told).toBe('invalid_input: The followed branch has no commit x; was it pushed there?');
  });

  it.each(['c', 'd'])('ends if the newest commit d is not followed, and so %s is not', async (commit) => {
    const scene = new Scene();
    scene.refused = { commit: 'd', reason: 'wrong', problems: [], hold: null, since: '' };
    const told = scene.reached(commit);
    await scene.settle();
    scene.polls[0]?.reject(NOT_FOLLOWED);
    const words = `The newest commit d is not followed, so ${commit} is not; GET /operations/status says why`;
    expect(await told).toBe(`not_ready: ${words}`);
  });

  it('is one of at most a hundred of its client', async () => {
    const scene = new Scene();
    const all = Array.from({ length: WAITS.ofClient + WAITS.waitingOfClient }, () => scene.reached('c'));
    await scene.settle();
    expect(scene.polls).toHaveLength(WAITS.ofClient);
    const refused = /^too_many_requests: .*50 requests like this one at once, and 50 more may wait/;
    expect(await scene.reached('c')).toMatch(refused);
    expect(await scene.reached('b')).toBe('reached');
    scene.clock.advance(WAIT_MS);
    expect(new Set(await Promise.all(all))).toEqual(
      new Set(['not_ready: The commit c is not followed yet; try again']),
    );
    expect(await scene.reached('a')).toMatch(refused);
    // Those that waited have their turn after those that were at work.
    for (let turn = 0; turn < 2; turn += 1) {
      for (const poll of scene.polls) poll.resolve(DESIRED);
      await scene.settle();
    }
    expect(await scene.reached('a')).toBe('reached');
  });

  it('does not delay other clients for unknown commits', async () => {
    const scene = new Scene();
    for (let count = 0; count < 130; count += 1) void scene.reached(`unknown ${count}`, 'low');
    await scene.settle();
    const asked = scene.questions.length;
    expect(await scene.reached('a', 'other')).toBe('reached');
    // The next question of all.
    expect(scene.questions[asked]).toBe('a b');
    scene.wait.stop();
  });

  it('ends when the controller stops', async () => {
    const scene = new Scene();
    const told = scene.reached('c');
    await scene.settle();
    scene.wait.stop();
    expect(await told).toBe('not_ready: The controller is stopping');
  });
});
