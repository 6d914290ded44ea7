// Tests that a request waiting for a commit is answered by a poll that began after it came, never by an earlier one.
import { describe, expect, it } from 'vitest';
import type { DesiredState } from '../../src/desired/desired-state.ts';
import { Arrivals } from '../../src/follow/arrivals.ts';
import { CurrentState } from '../../src/follow/current-state.ts';
import { NOW } from '../reconcile/build.ts';
import { TextRepository } from '../support/text-repository.ts';

const HISTORY = ['a', 'b', 'c'];

class Scene {
  readonly current = new CurrentState();
  readonly arrivals: Arrivals;
  polls = 0;
  isBroken = false;

  constructor() {
    this.arrivals = new Arrivals(this.current, async (ancestor, descendant) => {
      if (this.isBroken) throw new Error('the local copy is damaged');
      return HISTORY.includes(ancestor) && HISTORY.indexOf(ancestor) <= HISTORY.indexOf(descendant);
    });
  }

  /** Resolves to the followed commit, or to what the waiting one is told. */
  async wait(commit: string): Promise<string> {
    return await told(this.arrivals.wait(commit, () => this.#poll()));
  }

  async newest(): Promise<string> {
    return await told(this.arrivals.newest(() => this.#poll()));
  }

  /** A whole look, which finds a commit and follows it. */
  async poll(commit: string): Promise<void> {
    this.arrivals.begin();
    this.follow(commit);
    await this.arrivals.polled();
  }

  follow(commit: string): void {
    this.current.set({ ...DESIRED, commit }, 0);
    this.current.catchUp();
  }

  refuse(commit: string, reason: string): void {
    this.current.refuse({ commit, reason, problems: [], hold: null, since: new Date(NOW).toISOString() });
  }

  #poll(): void {
    this.polls += 1;
  }
}

const DESIRED: DesiredState = new TextRepository().commit({ 'tree.yaml': 'name: global\ntype: common\n' });

async function told(waiting: Promise<DesiredState>): Promise<string> {
  try {
    return (await waiting).commit;
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string };
    return `${code}: ${message}`;
  }
}

/** Resolves to whether something is settled by now. */
async function isSettled(waiting: Promise<unknown>): Promise<boolean> {
  const turn = new Promise<boolean>((resolve) => setImmediate(() => resolve(false)));
  return await Promise.race([waiting.then(() => true), turn]);
}

describe('waiting for a commit', () => {
  it('ends without a poll if the commit is active', async () => {
    const scene = new Scene();
    scene.follow('a');
    expect([await scene.wait('a'), scene.polls]).toEqual(['a', 0]);
  });

  it('ends when a later commit is active', async () => {
    const scene = new Scene();
    const waiting = scene.wait('b');
    expect(scene.polls).toBe(1);
    await scene.poll('c');
    expect(await waiting).toBe('c');
  });

  it('is not ended by a poll that began before', async () => {
    const scene = new Scene();
    scene.follow('a');
    scene.arrivals.begin();
    const waiting = scene.wait('b');
    await scene.arrivals.polled();
    expect(await isSettled(waiting)).toBe(false);
    scene.arrivals.begin();
    scene.arrivals.failed(new Error('another look, that failed'));
    expect(await waiting).toBe('not_ready: The repository cannot be followed at the moment: another look, that failed');
  });

  it('answers conflict with the reason if the commit is not followed', async () => {
    const scene = new Scene();
    scene.follow('a');
    const [refused, later] = [scene.wait('b'), scene.wait('elsewhere')];
    scene.arrivals.begin();
    scene.refuse('b', 'tree.yaml is wrong');
    await scene.arrivals.polled();
    expect(await refused).toMatch(/^conflict: .* b is not followed: tree.yaml is wrong/);
    expect(await later).toMatch(/^conflict: .*tree.yaml is wrong/);
  });

  it('ends for all if the local copy cannot be read', async () => {
    const scene = new Scene();
    const waiting = [scene.wait('a'), scene.wait('b'), scene.newest()];
    scene.isBroken = true;
    await scene.poll('c');
    expect(await Promise.all(waiting)).toEqual([
      'not_ready: The repository cannot be followed at the moment: the local copy is damaged',
      'not_ready: The repository cannot be followed at the moment: the local copy is damaged',
      'c',
    ]);
  });
});

describe('waiting for the newest commit', () => {
  it('polls although a commit is active', async () => {
    const scene = new Scene();
    scene.follow('a');
    const waiting = scene.newest();
    expect(scene.polls).toBe(1);
    await scene.poll('b');
    expect(await waiting).toBe('b');
  });

  it('answers conflict if it is not followed', async () => {
    const scene = new Scene();
    scene.follow('a');
    const waiting = scene.newest();
    scene.arrivals.begin();
    scene.refuse('b', 'nothing is left');
    await scene.arrivals.polled();
    expect(await waiting).toMatch(/^conflict: The newest commit b is not followed: nothing is left/);
  });
});

it('a stop ends all waiting, and later requests', async () => {
  const scene = new Scene();
  const waiting = [scene.wait('a'), scene.newest()];
  scene.arrivals.stop();
  waiting.push(scene.wait('a'), scene.newest());
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['not_ready: The controller is stopping']));
});
