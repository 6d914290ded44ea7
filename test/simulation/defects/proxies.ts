// Planted defects of the work of proxies.
import type { PlantedDefect } from '../planted-defect.ts';

export const PROXY_DEFECTS: readonly PlantedDefect[] = [
  {
    id: 'proxy-tag',
    title: 'a proxy is offered the servers of all tags',
    edits: [
      {
        file: 'src/machine/proxy-tags.ts',
        find: ': tags.some((tag) => own.includes(tag));\n}',
        replace: ': own.length > 0;\n}',
      },
      {
        file: 'src/reconcile/proxy-offers.ts',
        find: '    yield* inTurn(this.#lines, tags, seen);',
        replace: '    yield* inTurn(this.#lines, [...this.#lines.keys()], seen);',
      },
    ],
  },
];
