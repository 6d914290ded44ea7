// A standby becomes the leader: it goes on from what it shows, where that is what is recorded; and a leader becomes a standby again.
import { describe, expect, it, onTestFinished } from 'vitest';
import { withoutPause } from '../../src/base/breathe.ts';
import { createLog } from '../../src/base/log.ts';
import { StandbyFollower, type StandbyFollowerOptions, showAllWritten } from '../../src/follow/standby-follower.ts';
import { Core } from '../reconcile/core.ts';
import { headRow } from '../support/rows.ts';
import { allReads, lead, MirrorStore, Standby } from '../support/standby.ts';
import type { TextSource } from '../support/text-source.ts';
import { A, OTHER, START, servers } from './two-instances.ts';

interface Scene {
  readonly core: Core;
  readonly standby: Standby;
  readonly source: TextSource;
  readonly lines: string[];
}

/** A leader whose servers are done, and a standby beside it. */
async function started(): Promise<Scene> {
  const core = await Core.following({ ...START, [A]: servers('x', 5) });
  const source = core.source.copy();
  const standby = new Standby(new MirrorStore(() => core.store), { source, clock: core.clock });
  standby.follower.start();
  await core.settle();
  return { core, standby, source, lines: [] };
}

function partsOf({ ledger, current, store }: Standby, { core, source, lines }: Scene): StandbyFollowerOptions {
  return {
    ledger,
    current,
    source,
    clock: core.clock,
    breathe: withoutPause,
    refresh: () => store.refresh(),
    log: createLog('info', { write: (line) => lines.push(line) }),
  };
}

/** The leader ends, and the standby leads. Returns its follower, and the servers that it has examined. */
async function takeOver({ core, standby, source, lines }: Scene): Promise<ReturnType<typeof lead>> {
  await standby.follower.catchUp();
  await standby.follower.stop();
  source.filesRead = 0;
  const { follower, examined } = lead(standby, { source, clock: core.clock, write: (line) => lines.push(line) });
  await core.settle();
  onTestFinished(() => follower.stop());
  return { follower, examined };
}

describe('a standby that becomes the leader', () => {
  it('continues from its state: reads no file, examines all servers, and follows new commits', async () => {
    const scene = await started();
    const { core, standby, source } = scene;
    await core.stop();
    const before = allReads(standby.reader);
    source.isGone = true;
    const { follower, examined } = await takeOver(scene);
    expect(source.filesRead).toBe(0);
    expect(examined.size).toBe(6);
    expect(allReads(standby.reader)).toEqual(before);
    source.isGone = false;
    core.source.commit({ [OTHER]: servers('other', 2) });
    await follower.newest();
    expect(standby.ledger.read('head', 'head')?.commit).toBe('commit-2');
    expect(standby.ledger.server('other-2')).toMatchObject({ state: 'pending' });
  });

  it('judges an approval that the former leader did not judge', async () => {
    const scene = await started();
    const { core, standby } = scene;
    await core.follow({ [A]: servers('x', 1) });
    const held = core.held('a');
    await core.stop();
    const approval = { what: 'deletes', by: 'A1', reason: '', time: '2026-11-20T10:13:56.000Z' } as const;
    const name = held?.digest ?? '';
    await core.store.commit([{ kind: 'approval', name, value: approval, expected: undefined }]);
    await takeOver(scene);
    expect(standby.ledger.list('held').size).toBe(0);
    expect(standby.ledger.list('approval').size).toBe(0);
    expect(standby.ledger.server('x-5')).toMatchObject({ wanted: null, approved: true });
  });

  it('restores the recorded commit instead of its own', async () => {
    const scene = await started();
    const { core, standby } = scene;
    await core.follow({ [OTHER]: servers('other', 1, '', 'large') });
    await core.stop();
    await standby.follower.catchUp();
    const row = standby.ledger.read('head', 'head');
    const value = { ...headRow('commit-1'), ...row, commit: 'commit-1' };
    const other = standby.ledger.server('other-1');
    const wanted = standby.current.get()?.units.get('stack-instance/other')?.servers.get('other-1')?.spec;
    const small = { ...other, wanted: wanted && { ...wanted, properties: { ...wanted.properties, size: 'small' } } };
    await standby.ledger.commit([
      { kind: 'head', name: 'head', value, expected: row },
      { kind: 'server', name: 'other-1', value: small as never, expected: other },
    ]);
    const { examined } = await takeOver(scene);
    expect(examined.size).toBe(6);
    expect(standby.current.get()?.commit).toBe('commit-2');
  });
});

describe('a replica without the followed commit, which the branch no longer has', () => {
  it.each([{ shown: 'an earlier one' }, { shown: 'nothing' }])(
    'and that shows $shown leads, and has an operator accept the history',
    async ({ shown }) => {
      const scene = await started();
      const { core } = scene;
      await scene.standby.follower.stop();
      const source = core.source.copy();
      const other = new Standby(new MirrorStore(() => core.store), { source, clock: core.clock });
      const standby = shown === 'nothing' ? other : scene.standby;
      await core.follow({ [OTHER]: servers('other', 2) });
      await core.stop();
      const rewritten = core.source.commit({ ...START, [A]: servers('x', 5) }, { parents: ['commit-1'] });
      const parts = partsOf(standby, scene);
      await showAllWritten(parts);
      expect(standby.current.get()).toBeUndefined();
      const first = lead(standby, { source, clock: core.clock });
      await core.settle();
      expect(standby.current.refused).toMatchObject({
        commit: rewritten,
        hold: { kind: 'history', check: 'restore the branch' },
      });
      expect(standby.ledger.server('other-2')?.wanted).not.toBeNull();
      await first.follower.stop();
      const value = { what: 'history', by: 'A1', reason: '', time: '2026-11-20T10:13:56.000Z' } as const;
      await standby.ledger.commit([{ kind: 'approval', name: `history-${rewritten}`, value, expected: undefined }]);
      const { follower } = lead(standby, { source, clock: core.clock });
      onTestFinished(() => follower.stop());
      await core.settle();
      expect(standby.current.get()?.commit).toBe(rewritten);
      expect(standby.current.get()?.owners.get('other-2')).toBe('stack-instance/other');
      expect(standby.ledger.read('held', 'other')?.servers).toEqual(['other-2']);
    },
  );

  it('does not lead while the remote is unreachable', async () => {
    const scene = await started();
    const { core, standby, source } = scene;
    await standby.follower.stop();
    await core.follow({ [OTHER]: servers('other', 2) });
    await core.stop();
    source.isGone = true;
    await expect(showAllWritten(partsOf(standby, scene))).rejects.toThrow('the remote cannot be reached');
    expect(standby.current.get()?.commit).toBe('commit-1');
  });
});

describe('a deposed leader', () => {
  it('continues as a standby from its state', async () => {
    const scene = await started();
    const { core, standby } = scene;
    let told = 0;
    const note = (): void => {
      told += 1;
    };
    standby.ledger.watch(note);
    standby.current.watch(note);
    standby.ledger.index.setInFlight('x-1', true);
    await standby.follower.stop();
    standby.ledger.forgetWatchers();
    standby.current.forgetWatchers();
    expect(standby.ledger.index.awayOf('a/s')).not.toContain('x-1');
    await core.follow({ [OTHER]: servers('other', 2) });
    const again = new StandbyFollower(partsOf(standby, scene));
    again.start();
    await core.settle();
    expect(allReads(standby.reader)).toEqual(allReads(core.reader));
    expect(standby.current.get()?.commit).toBe('commit-2');
    expect(told).toBe(0);
    await again.stop();
  });
});
