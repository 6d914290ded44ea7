// The mends of large estates, and how each is taken back.
import type { PlantedDefect } from '../planted-defect.ts';

export const SIZES_DEFECTS: readonly PlantedDefect[] = [
  {
    id: '17-removal',
    title: 'Every server that goes lists all servers of every leaving instance',
    edits: [
      {
        file: 'src/reconcile/reconciler.ts',
        find: 'if (ledger.index.hasServers(name)) this.#thinned',
        replace: 'if (ledger.index.serversOf(name).length > 0) this.#thinned',
      },
    ],
  },
  {
    id: '17-dependencies',
    title: 'A server that depends on many is woken by each of them',
    edits: [{ file: 'src/reconcile/world.ts', find: 'dependsOn.findLast(', replace: 'dependsOn.find(' }],
  },
  {
    id: '17-holder',
    title: 'Whether a server holds up a delete is looked for from the first of its dependencies on',
    edits: [
      {
        file: 'src/reconcile/holding-up.ts',
        find: '({ dependsOn }) => includesSorted(dependsOn, name)',
        replace: '({ dependsOn }) => dependsOn.includes(name)',
      },
    ],
  },
];
