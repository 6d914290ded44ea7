// The way of a record to its node, one step after another: commits change the record, consumers fetch and confirm it.
import { describe, expect, it } from 'vitest';
import {
  judgeDelivery,
  type PresentRecord,
  withConfirmation,
  withFetch,
  withPresent,
} from '../../src/machine/delivery.ts';
import type { ApplyOutcome, DeliveryRow } from '../../src/model/rows.ts';

/** The commits c1, c2, …, one a minute. */
function at(commit: number): string {
  return `2026-11-20T10:${String(commit).padStart(2, '0')}:00.000Z`;
}

function present(digest: string, commit: number, incarnation = 1): PresentRecord {
  return { digest, incarnation, commit: `c${commit}`, time: at(commit) };
}

/** A node and its record: `follow` shows a commit, at which the record may be another one. */
class Node {
  row: DeliveryRow | undefined;
  #present = present('d1', 1);

  follow(digest: string, commit: number, incarnation = 1): this {
    this.#present = present(digest, commit, incarnation);
    // The one before was compared at the commit before.
    if (this.row !== undefined) this.row = withPresent(this.row, this.#present, `c${commit - 1}`);
    return this;
  }

  fetch(digest: string, by = '0A'): this {
    const seen = { ...this.#present, digest };
    const { time } = this.#present;
    this.row = withFetch(this.row, { digest, by, time }, { seen, present: this.#present });
    return this;
  }

  confirm(digest: string, outcome: ApplyOutcome = 'applied', message = ''): this {
    const { time } = this.#present;
    this.row = withConfirmation(this.row, { digest, by: '0A', time, outcome, message }, this.#present);
    return this;
  }

  /** For a commit; left out: the present record alone counts. */
  judge(commit?: number) {
    if (this.row === undefined) throw new Error('nothing was told');
    const isReached = (until: string): boolean => Number(until.slice(1)) >= (commit ?? 0);
    return judgeDelivery(this.row, commit === undefined ? undefined : isReached);
  }
}

describe('a record', () => {
  it('is outdated until it is confirmed, and delivered from then on', () => {
    const node = new Node().fetch('d1');
    expect(node.judge()).toEqual({ state: 'outdated', since: at(1), before: null });
    expect(node.confirm('d1').judge()).toEqual({ state: 'delivered', since: at(1), before: null });
  });

  it('stays delivered by commits that leave it as it is', () => {
    const node = new Node().confirm('d1');
    const { row } = node;
    expect(node.follow('d1', 2).row).toBe(row);
    expect(node.judge().state).toBe('delivered');
  });

  it('is outdated since the commit that changed it, and delivered for the commits before that', () => {
    const node = new Node().confirm('d1').follow('d1', 2).follow('d2', 3);
    expect(node.judge()).toEqual({ state: 'outdated', since: at(3), before: 'c3' });
    expect([1, 2, 3, 4].map((commit) => node.judge(commit).state)).toEqual([
      ...['delivered', 'delivered', 'outdated', 'outdated'],
    ]);
    node.follow('d3', 4);
    expect(node.judge()).toEqual({ state: 'outdated', since: at(3), before: 'c3' });
    expect(node.confirm('d2').judge()).toEqual({ state: 'outdated', since: at(4), before: 'c4' });
    expect(node.judge(3).state).toBe('delivered');
  });

  it('is delivered again where a commit brings back what runs', () => {
    const node = new Node().confirm('d1').follow('d2', 2).follow('d1', 3);
    expect(node.judge().state).toBe('delivered');
    expect(node.follow('d3', 4).judge(3).state).toBe('delivered');
  });

  it('is outdated where what was confirmed is not known, without a time', () => {
    expect(new Node().confirm('d0').judge()).toEqual({ state: 'outdated', since: null, before: null });
    expect(new Node().confirm('d0').judge(1).state).toBe('outdated');
  });

  it('that was fetched before a commit and confirmed after it is the one before', () => {
    const node = new Node().follow('d2', 2);
    node.row = withFetch(
      undefined,
      { digest: 'd1', by: '0A', time: at(1) },
      { seen: present('d1', 1), present: present('d2', 2) },
    );
    expect(node.confirm('d1').judge()).toEqual({ state: 'outdated', since: at(2), before: 'c2' });
    expect(node.judge(1).state).toBe('delivered');
  });

  it('that was confirmed is known however many come after it, and of the others the last ones', () => {
    const node = new Node().confirm('d1');
    for (let commit = 2; commit <= 30; commit += 1) node.follow(`d${commit}`, commit);
    expect(node.row?.records.map(({ digest }) => digest)).toEqual(['d30', 'd29', 'd28', 'd27', 'd1']);
    expect(node.judge(1).state).toBe('delivered');
    expect(node.judge(2).state).toBe('outdated');
    expect(node.confirm('d30').row?.records).toHaveLength(4);
  });

  it('is nowhere on a server that was made anew', () => {
    const node = new Node().confirm('d1').follow('d1', 2, 2);
    expect(node.row).toMatchObject({ applied: null, incarnation: 2 });
    expect(node.judge()).toMatchObject({ state: 'outdated' });
  });
});

describe('a failure', () => {
  it('is told until a record is applied, and no idle run ends it', () => {
    const node = new Node().confirm('d1').follow('d2', 2).confirm('d2', 'failed', 'no space');
    expect(node.judge()).toEqual({ state: 'failed', since: at(2), before: 'c2' });
    expect(node.confirm('d2', 'noop').row?.told).toMatchObject({ outcome: 'failed', message: 'no space' });
    expect(node.confirm('d2').judge().state).toBe('delivered');
    expect(node.row?.told).toBeNull();
  });

  it('of a later record leaves an earlier commit delivered', () => {
    const node = new Node().confirm('d1').follow('d2', 2).confirm('d2', 'failed');
    expect(node.judge(1).state).toBe('delivered');
  });

  it('of the record that was applied takes that back', () => {
    const node = new Node().confirm('d1').follow('d1', 2).confirm('d1', 'failed');
    expect(node.judge()).toEqual({ state: 'failed', since: at(2), before: null });
  });
});

describe('the row', () => {
  it('stays the same where the same is fetched or told again', () => {
    const node = new Node().fetch('d1').confirm('d1');
    const { row } = node;
    expect(node.follow('d1', 2).fetch('d1', '0B').confirm('d1').row).toBe(row);
    const failed = node.confirm('d1', 'failed', 'full').row;
    expect(node.confirm('d1', 'failed', 'full').row).toBe(failed);
    expect(node.confirm('d1', 'failed', 'still full').row).not.toBe(failed);
  });

  it('tells of an idle run, which moves nothing', () => {
    const node = new Node().confirm('d1').follow('d2', 2).confirm('d2', 'noop', 'would change 3');
    expect(node.judge()).toMatchObject({ state: 'outdated', before: 'c2' });
    expect(node.row).toMatchObject({ applied: { digest: 'd1' }, told: { outcome: 'noop', message: 'would change 3' } });
  });
});
