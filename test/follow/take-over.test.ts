// A standby becomes the leader: it goes on from what it shows, where that is what is recorded; and a leader becomes a standby again.
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import { StandbyFollower } from '../../src/follow/standby-follower.ts';
import { Core } from '../reconcile/core.ts';
import { runAtOnce } from '../support/run-at-once.ts';
import { allReads, lead, MirrorStore, ReplicaSource, Standby } from '../support/standby.ts';
import { A, OTHER, START, servers } from './two-instances.ts';

interface Scene {
  readonly core: Core;
  readonly standby: Standby;
  readonly source: ReplicaSource;
  readonly lines: string[];
}

/** A leader whose servers are done, and a standby beside it. */
async function started(): Promise<Scene> {
  const core = new Core();
  core.source.commit({ ...START, [A]: servers('x', 5) });
  await core.poll();
  const source = new ReplicaSource(core.source);
  const standby = new Standby(new MirrorStore(() => core.store), { source, clock: core.clock });
  standby.follower.start();
  await core.settle();
  return { core, standby, source, lines: [] };
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
  it('goes on from what it shows: it reads no file, examines every server, and follows what comes', async () => {
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

  it('judges an approval that the leader before has not judged', async () => {
    const scene = await started();
    const { core, standby } = scene;
    core.source.commit({ [A]: servers('x', 1) });
    await core.poll();
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

  it('restores as at a start where what it shows is not what is recorded', async () => {
    const scene = await started();
    const { core, standby, source } = scene;
    core.source.commit({ [OTHER]: servers('other', 1, '', 'large') });
    await core.poll();
    await core.stop();
    await standby.follower.catchUp();
    const row = standby.ledger.read('head', 'head');
    const value = { ...(row ?? { time: '' }), commit: 'commit-1' };
    const other = standby.ledger.server('other-1');
    const wanted = standby.current.get()?.units.get('stack-instance/other')?.servers.get('other-1')?.spec;
    const small = { ...other, wanted: wanted && { ...wanted, properties: { ...wanted.properties, size: 'small' } } };
    await standby.ledger.commit([
      { kind: 'head', name: 'head', value, expected: row },
      { kind: 'server', name: 'other-1', value: small as never, expected: other },
    ]);
    const { examined } = await takeOver(scene);
    expect(scene.lines.join()).toContain('what this process shows is not what is recorded');
    expect(source.filesRead).toBeGreaterThan(0);
    expect(examined.size).toBe(6);
    expect(standby.current.get()?.commit).toBe('commit-2');
  });
});

describe('a leader that is deposed', () => {
  it('goes on as a standby from what it has shown, and its former parts are told of nothing', async () => {
    const scene = await started();
    const { core, standby, source } = scene;
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
    core.source.commit({ [OTHER]: servers('other', 2) });
    await core.poll();
    await expect(standby.store.refresh()).rejects.toMatchObject({ code: 'conflict' });
    expect(standby.current.get()?.commit).toBe('commit-1');
    const { ledger, current, store } = standby;
    const again = new StandbyFollower({
      ...{ ledger, current, source, clock: core.clock, inSlices: runAtOnce, refresh: () => store.refresh() },
      log: createLog('info', { write: (line) => scene.lines.push(line) }),
    });
    again.start();
    await core.settle();
    expect(allReads(standby.reader)).toEqual(allReads(core.reader));
    expect(standby.current.get()?.commit).toBe('commit-2');
    expect(told).toBe(0);
    await again.stop();
  });
});
