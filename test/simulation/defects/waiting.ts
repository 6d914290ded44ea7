// Mends of waits and roll-outs, and how each is taken back.
import type { PlantedDefect } from '../planted-defect.ts';

export const WAITING_DEFECTS: readonly PlantedDefect[] = [
  {
    id: '9a',
    title: 'a server that drifted or failed goes on holding up a delete that it does not need any more',
    edits: [
      {
        file: 'src/machine/want.ts',
        find: 'applied: restructured(row, server.spec)',
        replace: 'applied: row.applied',
      },
    ],
  },
  {
    id: '9b',
    title: 'two deletes wait for each other for ever',
    edits: [
      {
        file: 'src/machine/circles.ts',
        find: "if (wait.kind === 'holder') return true;",
        replace: '',
      },
    ],
  },
  {
    id: '9c',
    title: 'a wait for a slot of a group and dependencies across groups form a circle that nobody breaks',
    edits: [
      {
        file: 'src/machine/circles.ts',
        find: "return wait.kind === 'slot' && !wait.isAway;",
        replace: 'return false;',
      },
    ],
  },
  {
    id: '10-failures',
    title: 'the rest of a held roll-out is not woken when those that failed have succeeded',
    edits: [
      {
        file: 'src/reconcile/wake-ups.ts',
        find: 'if (before?.gaveUp) this.#wakeReleasedCommits();',
        replace: '',
      },
    ],
  },
  {
    id: '10-suspension',
    title: 'servers of a suspended instance do not hear that the suspension has been given an end',
    edits: [
      {
        file: 'src/reconcile/wake-ups.ts',
        find: "change.kind === 'held' || change.kind === 'suspension'",
        replace: "change.kind === 'held'",
      },
      {
        file: 'src/reconcile/row-requests.ts',
        find: 'now wait for another end.\n    this.#enqueueOf(instance);',
        replace: 'now wait for another end.',
      },
    ],
  },
  {
    id: '14',
    title: 'the provider entry that has waited first takes all capacity that comes free',
    edits: [
      {
        file: 'src/reconcile/capacity-line.ts',
        find: "for (let left = this.#order.size; left > 0; left -= 1) {\n      const provider = this.#order.take() ?? '';",
        replace: 'for (const provider of [...this.#entries.keys()]) {',
      },
    ],
  },
  {
    id: '14-instances',
    title: 'the instance that has waited first takes all capacity of its provider entry',
    edits: [
      {
        file: 'src/reconcile/capacity-line.ts',
        find: 'for (let instance = instances.take(); instance !== undefined; instance = instances.take()) {',
        replace: 'for (const instance of [...servers.keys()]) {',
      },
    ],
  },
  {
    id: '14-share',
    title: 'one provider entry may take the whole global concurrency by default',
    metBy: { test: 'test/settings/load-settings.test.ts', because: 'runs are given their settings' },
    edits: [
      {
        file: 'src/settings/load-providers.ts',
        find: 'Math.max(1, Math.floor(concurrency / 2))',
        replace: 'concurrency',
      },
    ],
  },
  {
    id: '17-roll-out',
    title: 'each change in a group wakes all its members that wait for a slot',
    edits: [
      {
        file: 'src/reconcile/slot-lines.ts',
        find: 'const first = this.#wakeFresh(group, line);',
        replace:
          'const first = this.#lines.size < 0 ? this.#wakeFresh(group, line) : undefined;\n' +
          '    for (let name = line.fresh.take(); name !== undefined; name = line.fresh.take()) this.#options.wake(name);',
      },
      {
        file: 'src/reconcile/wake-ups.ts',
        find: "if (wait?.kind === 'slot') this.#wakeGroup(wait.group);",
        replace: '',
      },
    ],
  },
  {
    id: 'stall-of-slot',
    title: 'the status of an instance whose rollout waits for a blocked member is answered with an error',
    metBy: { test: 'test/reconcile/stalls.test.ts', because: 'the simulator asks for no status of an instance' },
    edits: [
      {
        file: 'src/reconcile/stall-graph.ts',
        find: "filter((name) => ledger.server(name)?.state === 'blocked')",
        replace: "filter((name) => (0, ledger.server)(name)?.state === 'blocked')",
      },
    ],
  },
];
