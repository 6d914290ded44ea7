// Defects of servers that take outputs of others.
import type { PlantedDefect } from '../planted-defect.ts';

export const OUTPUT_DEFECTS: readonly PlantedDefect[] = [
  {
    id: 'output-not-woken',
    title: 'a changed output wakes nobody who takes it',
    edits: [
      {
        file: 'src/reconcile/waits/wake-ups.ts',
        find: '    if (before?.outputs !== after?.outputs) this.#wakeReaders(name);\n',
        replace: '',
      },
    ],
  },
  {
    id: 'output-not-awaited',
    title: 'a server is made although an output that it takes is not known',
    edits: [
      {
        file: 'src/machine/decide.ts',
        find: '  const stopped = decideOutputs(row, context);\n  if (stopped !== undefined) return stopped;\n',
        replace: '',
      },
    ],
  },
];
