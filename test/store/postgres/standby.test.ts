// A leader and a standby over one PostgreSQL database: what the leader follows shows on the standby, at one moment.
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { withoutPause } from '../../../src/base/breathe.ts';
import { CurrentState } from '../../../src/follow/current-state.ts';
import { Ledger } from '../../../src/reconcile/ledger.ts';
import { openPostgresStore } from '../../../src/store/postgres/postgres-adapter.ts';
import { A, OTHER, START, servers } from '../../follow/two-instances.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { pausing } from '../../support/pausing.ts';
import { type PostgresServer, startPostgresServer } from '../../support/postgres-server.ts';
import { writeText } from '../../support/rows.ts';
import { allReads, lead, ReplicaSource, readsOf, restOf, Standby } from '../../support/standby.ts';
import { TextSource } from '../../support/text-source.ts';

let server: PostgresServer;

beforeAll(async () => {
  server = await startPostgresServer();
});
afterAll(() => server.remove());

it('shows rows and the desired state of each commit at one moment, large ones too, and can lead then', async () => {
  const url = await server.create();
  const open = async () => {
    const store = await openPostgresStore({ url }, { breathe: pausing() });
    onTestFinished(() => store.close());
    return store;
  };
  const [own, shared] = [await open(), await open()];
  const source = new TextSource();
  const clock = new ManualClock();
  source.commit(START);
  const leader = { ledger: new Ledger(own, withoutPause), current: new CurrentState() };
  const { follower } = lead(leader, { source, clock });
  await follower.newest();
  const copy = new ReplicaSource(source);
  const standby = new Standby(shared, { source: copy, clock });
  standby.follower.start();
  const moments: (string | undefined)[][] = [];
  const look = (): number => moments.push([standby.ledger.read('head', 'head')?.commit, standby.current.get()?.commit]);
  standby.current.watch(look);
  standby.ledger.watch(look);
  for (const files of [
    { [A]: servers('x', 40) },
    { [A]: servers('x', 40), [OTHER]: servers('x', 2) },
    { [A]: servers('x', 39) },
    { [OTHER]: 'stackTemplate: nowhere\n' },
    { [OTHER]: null },
  ]) {
    source.commit(files);
    await follower.newest();
    await standby.follower.catchUp();
    expect(restOf(standby)).toEqual(restOf(leader));
    expect(allReads(standby.reader)).toEqual(allReads(readsOf(leader, clock)));
    expect(standby.ledger.index.serversOf('a')).toEqual(leader.ledger.index.serversOf('a'));
  }
  for (const [rows, desired] of moments) expect(desired ?? rows).toBe(rows);
  // What a commit of this process meets is shown by the next look, and not in between.
  source.commit({ [A]: servers('x', 39, '', 'large') });
  const { commit } = await follower.newest();
  await expect(shared.commit([writeText('own', 'text')])).rejects.toThrow('of another process');
  expect(standby.current.get()?.commit).not.toBe(commit);
  await standby.follower.catchUp();
  expect(standby.current.get()?.commit).toBe(commit);
  await shared.commit([writeText('own', 'text')]);
  await Promise.all([follower.stop(), standby.follower.stop()]);
  copy.filesRead = 0;
  const next = lead(standby, { source: copy, clock });
  await next.follower.newest();
  expect(copy.filesRead).toBe(0);
  expect(next.examined.size).toBe(standby.ledger.list('server').size);
  await next.follower.stop();
});
