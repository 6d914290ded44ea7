// When a provider entry counts as one that answers nothing.
import { describe, expect, it } from 'vitest';
import type { AnswerOutcome } from '../../src/model/call-result.ts';
import { CallHistory } from '../../src/reconcile/checks/call-history.ts';
import { EntryAnswers } from '../../src/reconcile/checks/entry-answers.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { answerOf } from './build.ts';

const SECOND = 1_000;

class Scene {
  readonly clock = new ManualClock(Date.parse('2026-11-20T10:00:00.000Z'));
  readonly answers = new EntryAnswers(this.clock);

  /** A call that takes so long and ends so; undefined: without an answer. */
  call(server: string, outcome: AnswerOutcome | undefined, { ms = 0, provider = 'lab', isRoutine = false } = {}): void {
    const claimed = { monotonic: this.clock.monotonic(), wall: this.clock.now() };
    this.clock.advance(ms);
    const call = { provider, isRoutine, claimed, end: new AbortController() };
    const answer = outcome === undefined ? undefined : answerOf(outcome, { message: `it was ${outcome}` });
    this.answers.ended(server, call, { answer, because: 'its deadline has passed' });
  }

  get silent(): readonly string[] {
    return this.answers.silent().map(({ entry }) => entry);
  }
}

describe('a provider entry does not answer', () => {
  it('after three calls in a minute, since the first of them began', () => {
    const scene = new Scene();
    scene.call('a', 'lost', { ms: 20 * SECOND });
    scene.call('b', undefined, { ms: 20 * SECOND });
    scene.call('a', 'retryable', { ms: 19 * SECOND });
    expect(scene.silent).toEqual([]);
    scene.clock.advance(SECOND);
    expect(scene.answers.silent()).toMatchObject([
      { entry: 'lab', since: '2026-11-20T10:00:00.000Z', reason: 'it was retryable', servers: new Set(['a', 'b']) },
    ]);
  });

  it.each(['done', 'absent', 'replace', 'failed'] as const)('until one answer, also %s', (outcome) => {
    const scene = new Scene();
    for (const server of ['a', 'b', 'c', 'd']) scene.call(server, 'lost', { ms: 30 * SECOND });
    expect(scene.silent).toEqual(['lab']);
    scene.call('e', outcome);
    expect(scene.silent).toEqual([]);
    scene.call('a', 'lost');
    expect(scene.silent).toEqual([]);
  });

  it('not counting routine checks that an action interrupts', () => {
    const scene = new Scene();
    for (const server of ['a', 'b', 'c']) scene.call(server, undefined, { ms: 200 * SECOND, isRoutine: true });
    expect(scene.silent).toEqual([]);
  });
});

it('EntryAnswers names the servers of unanswered calls', () => {
  const scene = new Scene();
  const servers = () => scene.answers.silent().flatMap((entry) => [...entry.servers]);
  for (const server of ['a', 'b']) scene.call(server, 'retryable', { ms: 60 * SECOND });
  expect(servers()).toEqual([]);
  scene.call('c', 'retryable');
  expect(servers()).toEqual(['a', 'b', 'c']);
  scene.call('a', 'done');
  expect(servers()).toEqual([]);
});

it('CallHistory counts the calls of each minute of the last hour', () => {
  const clock = new ManualClock();
  const history = new CallHistory(clock);
  history.note('lab', { isFailed: true, seconds: 4 });
  history.note('lab', { isFailed: false, seconds: 2 });
  clock.advance(59 * 60_000);
  history.note('lab', { isFailed: false, seconds: 1 });
  const none = Array(58).fill(0);
  expect(history.of('lab')).toEqual({
    calls: [2, ...none, 1],
    failures: [1, ...none, 0],
    seconds: [3, ...Array(58).fill(null), 1],
  });
  clock.advance(60_000);
  history.note('lab', { isFailed: false, seconds: 1 });
  expect(history.of('lab')).toMatchObject({ calls: [...none, 1, 1] });
  expect(history.of('other').calls).toEqual(Array(60).fill(0));
});
