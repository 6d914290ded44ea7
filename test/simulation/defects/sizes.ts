// The mends of large desired states, and how each is taken back.
import type { PlantedDefect } from '../planted-defect.ts';

export const SIZES_DEFECTS: readonly PlantedDefect[] = [
  {
    id: '17-removal',
    title: 'Every server that goes lists all servers of every terminating instance',
    edits: [
      {
        file: 'src/reconcile/emptied-instances.ts',
        find: 'if (this.#ledger.index.hasServers(name)) this.#thinned',
        replace: 'if (this.#ledger.index.serversOf(name).length > 0) this.#thinned',
      },
    ],
  },
  {
    id: '17-dependencies',
    title: 'A server that depends on many is woken by each of them',
    edits: [{ file: 'src/reconcile/decision-context.ts', find: 'dependsOn.findLast(', replace: 'dependsOn.find(' }],
  },
  {
    id: '17-holder',
    title: 'Whether a server holds up a delete is looked for from the first of its dependencies on',
    edits: [
      {
        file: 'src/machine/holders.ts',
        find: '({ dependsOn }) => includesSorted(dependsOn, name)',
        replace: '({ dependsOn }) => dependsOn.includes(name)',
      },
    ],
  },
  {
    id: '16-instance',
    title: 'An instance may be larger than can be recorded',
    edits: [
      {
        file: 'src/desired/store-capacity.ts',
        find: 'if (total <= INSTANCE_BYTES_MAX) return undefined;',
        replace: 'if (total <= Number.POSITIVE_INFINITY) return undefined;',
      },
    ],
  },
  {
    id: '16-lastRecords',
    title: 'The last records of a commit may take any room',
    edits: [
      { file: 'src/follow/last-records.ts', find: 'return left < 0 ? computed : whole;', replace: 'return whole;' },
    ],
  },
  {
    id: '18-room',
    title: 'All instances together may be larger than can be recorded',
    edits: [
      {
        file: 'src/desired/admit.ts',
        find: 'const refusals = capacityRefusals(units, recorded);',
        replace: 'const refusals: readonly Refusal[] = units.size < 0 ? capacityRefusals(units, recorded) : [];',
      },
    ],
  },
  {
    id: '18-review',
    title: 'An instance that was refused for want of room does not come in when there is more',
    edits: [{ file: 'src/follow/branch-poll.ts', find: ' || this.#hasFreedCapacity()', replace: '' }],
  },
  {
    id: '18-warning',
    title: 'Nobody says that the room becomes short',
    edits: [
      { file: 'src/follow/warn-of-capacity.ts', find: 'const WARNINGS = [90, 75];', replace: 'const WARNINGS = [];' },
    ],
  },
  {
    id: '18-simulated',
    title: 'The simulated provider remembers all servers that are gone',
    edits: [
      {
        file: 'src/providers/simulated-servers.ts',
        find: 'if (this.#gone.size > this.#goneMax && oldest !== undefined)',
        replace: 'if (this.#gone.size < 0 && oldest !== undefined)',
      },
    ],
  },
  {
    id: '18-simulated-file',
    title: 'The file of the simulated provider grows until a restart',
    edits: [
      {
        file: 'src/providers/simulated-servers.ts',
        find: 'if (this.#next !== undefined || this.#length > this.#compactAt) this.#compact(line);',
        replace: 'this.#compactAt += 0;',
      },
    ],
  },
];
