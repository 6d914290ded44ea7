// Defects of replicas that share a database: leases, fencing, takeovers.
import type { PlantedDefect } from '../planted-defect.ts';

const LEASE = 'src/store/postgres/lease.ts';

export const REPLICA_DEFECTS: readonly PlantedDefect[] = [
  {
    id: 'replica-fencing',
    title: 'a commit does not compare its fencing number with that of the database',
    edits: [
      {
        file: 'src/store/postgres/postgres-adapter.ts',
        find: 'if (this.#requireLead() === fencing && (fencing === undefined || there === fencing)) return;',
        replace: 'if (there >= 0) return;',
      },
    ],
  },
  {
    id: 'replica-monotonic',
    title: 'a lease is counted by the monotonic clock alone, which stands still while the machine sleeps',
    edits: [
      {
        file: LEASE,
        find: 'msSince(sent, this.#clock);',
        replace: 'Math.min(msSince(sent, this.#clock), this.#clock.monotonic() - sent.monotonic);',
      },
    ],
  },
  {
    id: 'replica-answered',
    title: 'a lease is counted from the answer to a renewal, and not from when that was sent',
    edits: [{ file: LEASE, find: 'held.sent = sent;', replace: 'held.sent = readClocks(this.#clock);' }],
  },
  {
    id: 'replica-database-clock',
    title: 'a lease is taken once it is over by the clock of the database alone',
    edits: [{ file: LEASE, find: 'return quietMs >= seconds * 1_000 &&', replace: 'return quietMs >= 0 &&' }],
  },
  {
    id: 'replica-stale',
    title: 'a standby leads before it shows everything that is written',
    edits: [
      {
        file: 'src/follow/standby-follower.ts',
        find: '  try {\n    await follower.catchUp();\n  } catch (error) {',
        replace: '  try {\n    follower.wake();\n  } catch (error) {',
      },
    ],
  },
  {
    id: 'replica-lost-head',
    title: 'no replica leads any more once the followed commit is in no copy and not on the branch',
    edits: [
      {
        file: 'src/follow/standby-follower.ts',
        find: 'if (!(error instanceof LostHead) || leaderlessMs < LEADERLESS_MS) throw error;',
        replace: 'if (!(error instanceof LostHead) || leaderlessMs >= 0) throw error;',
      },
    ],
  },
  {
    id: 'replica-late-call',
    title: 'a process that hung since it has saved the intent of a call begins that without asking whether it leads',
    edits: [
      {
        file: 'src/reconcile/calls/executor.ts',
        find: 'if (this.#options.mayBegin?.() === false) throw',
        replace: 'if (this.#options.mayBegin?.() === undefined && this.#options.mayBegin !== undefined) throw',
      },
    ],
  },
  {
    id: 'replica-leftover',
    title: 'what drives the servers goes on where a leader could not start',
    metBy: {
      test: 'test/compose/start-core.test.ts',
      because: 'a start fails where a full disk, a clock that was set and a takeover meet: one run in some thousand',
    },
    edits: [
      {
        file: 'src/compose/core.ts',
        find: '  await core.started;\n  return core;',
        replace: '  await core.started.catch((error) => {\n    opened.move();\n    throw error;\n  });\n  return core;',
      },
    ],
  },
];
