// How many servers one search for circles concerns.
import { expect, it } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import type { Wait } from '../../src/machine/wait.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import { CircleWatch } from '../../src/reconcile/waits/circle-watch.ts';
import { ManualClock } from '../support/manual-clock.ts';

class Watched {
  readonly clock = new ManualClock();
  readonly woken: string[] = [];
  readonly waits = new Map<string, Wait>();
  looks = 0;
  readonly watch = new CircleWatch({
    clock: this.clock,
    log: createLog('info', { write: () => undefined }),
    graph: {
      waitOf: (server) => {
        this.looks += 1;
        return this.waits.get(server);
      },
      slotsOf: () => ({ occupants: [], missing: 0 }),
    },
    rowOf: () => ({ generation: 1 }) as ServerRow,
    mayBeCircles: () => true,
    wake: (server) => this.woken.push(server),
  });

  wait(server: string, other: string): void {
    this.waits.set(server, { kind: 'dependency', server: other });
    this.watch.searchFrom(server);
  }
}

it('searches for the circles of many servers in steps, without another second between them', () => {
  const watched = new Watched();
  for (let number = 0; number < 10_000; number += 1) watched.wait(`s-${number}`, `done-${number}`);
  watched.wait('x', 'y');
  watched.wait('y', 'x');
  const looks: number[] = [];
  watched.clock.advance(999);
  expect(watched.looks).toBe(0);
  for (const ms of [1, 10, 10, 10, 10, 10]) {
    const before = watched.looks;
    watched.clock.advance(ms);
    looks.push(watched.looks - before);
  }
  // Each with the server that it waits for.
  expect(looks).toEqual([4_000, 4_000, 4_000, 4_000, 4_000, 2]);
  expect(watched.woken).toEqual(['x']);
  watched.clock.advance(60_000);
  expect(watched.woken).toEqual(['x']);
  expect(watched.clock.pending).toBe(0);
});
