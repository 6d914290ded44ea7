// Planted defects: fixes of what the simulator had found, taken back.
import type { PlantedDefect } from '../planted-defect.ts';

export const SIMULATOR_DEFECTS: readonly PlantedDefect[] = [
  {
    id: 'found-1',
    title: 'a check after a lost action has the deadline of that action, which may have passed',
    edits: [
      {
        file: 'src/execute/executor.ts',
        find: "const action = job.kind === 'action' ? job.row.action : null;",
        replace: 'const action = job.row.action;',
      },
    ],
  },
  {
    id: 'found-2',
    title: 'a lost outcome is looked up by nobody once the settings choose another entry',
    edits: [{ file: 'src/reconcile/responsible-provider.ts', find: " && row.state !== 'unknown';", replace: ';' }],
  },
  {
    id: 'asked-1',
    title: 'a replaced server is created by another entry without a look of its own',
    edits: [
      {
        file: 'src/reconcile/server-checks.ts',
        find: 'const checker = { provider: result.provider, tags: asked };',
        replace: 'const checker = this.#checkerOf(server);',
      },
    ],
  },
  {
    id: 'asked-2',
    title: 'a server is forgotten while its delete runs',
    metBy: {
      test: 'test/reconcile/retain-and-replace.test.ts',
      because: 'a person has to ask for it in the moment in which the delete runs',
    },
    edits: [
      {
        file: 'src/machine/requests.ts',
        find: "action === null || state === 'unknown'",
        replace: "action === null || state !== 'done'",
      },
    ],
  },
  {
    id: 'found-3',
    title: 'a check that tells nothing new writes the row as it was',
    edits: [{ file: 'src/machine/conclude.ts', find: 'return isKnown ? row : {', replace: 'return {' }],
  },
  {
    id: 'found-4',
    title: 'a delete that waits for who needs the server is not looked at when another spelling of its name is wanted',
    metBy: {
      test: 'test/reconcile/spellings.test.ts',
      because: 'no seed of 20,000 has such a delete wait when the other spelling comes',
    },
    edits: [
      {
        file: 'src/reconcile/wake-ups.ts',
        find: '    this.#wakeAll(this.#waiting.onAwaited(awaitedSpellings(name, after, this.#options.ledger)));\n',
        replace: '',
      },
    ],
  },
  {
    id: 'found-5',
    title: 'the end of a suspension starts actions while no commit is active',
    edits: [{ file: 'src/reconcile/reconciler.ts', find: 'if (!this.#options.isActive()) return;', replace: '' }],
  },
];
