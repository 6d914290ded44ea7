import { describe, expect, it } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import type { JsonMap } from '../../src/model/json.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import { SLICE_MS, SLICE_SERVERS, SWEEP_MS, Sweep } from '../../src/reconcile/waits/sweep.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { rowIn } from './build.ts';

/** `idle`: servers that could go on and that nobody has woken. */
function open(servers: readonly string[], idle: Map<string, ServerRow> = new Map()) {
  const clock = new ManualClock();
  const woken: string[] = [];
  const examined: string[] = [];
  const lines: JsonMap[] = [];
  const gate = { isExclusive: false };
  const sweep = new Sweep({
    clock,
    gate,
    log: createLog('info', { write: (line) => lines.push(JSON.parse(line)) }),
    servers: () => servers,
    idleRow: (server) => {
      examined.push(server);
      return idle.get(server);
    },
    wake: (server) => woken.push(server),
  });
  return { clock, sweep, woken, examined, lines, idle, gate };
}

describe('the sweep', () => {
  it('wakes who stands still from one look to the next, counts it and names it', () => {
    const { clock, sweep, woken, lines } = open(['a', 'b'], new Map([['b', rowIn('pending')]]));
    clock.advance(SWEEP_MS);
    expect([woken, sweep.missed]).toEqual([[], 0]);
    clock.advance(SLICE_MS);
    expect([woken, sweep.missed]).toEqual([['b'], 1]);
    expect(lines).toEqual([expect.objectContaining({ level: 40, server: 'b', state: 'pending', missed: 1 })]);
  });

  it('says nothing of who was just about to go on', () => {
    const { clock, sweep, woken, idle } = open(['a', 'b'], new Map([...'ab'].map((name) => [name, rowIn('pending')])));
    clock.advance(SWEEP_MS);
    idle.delete('a');
    idle.set('b', rowIn('pending'));
    clock.advance(SLICE_MS);
    expect([woken, sweep.missed]).toEqual([[], 0]);
  });

  it('waits while a commit is activated, whose servers are not enqueued yet', () => {
    const { clock, sweep, woken, gate } = open(['a'], new Map([['a', rowIn('pending')]]));
    clock.advance(SWEEP_MS);
    gate.isExclusive = true;
    for (let slice = 0; slice < 3; slice += 1) clock.advance(SLICE_MS);
    expect([woken, sweep.missed]).toEqual([[], 0]);
    gate.isExclusive = false;
    clock.advance(SLICE_MS);
    expect([woken, sweep.missed]).toEqual([['a'], 1]);
  });

  it('looks at a slice of the servers at a time, and at all of them again and again', () => {
    const servers = Array.from({ length: 2 * SLICE_SERVERS + 1 }, (_, index) => `s-${index}`);
    const { clock, examined } = open(servers);
    clock.advance(SWEEP_MS);
    expect(examined).toHaveLength(SLICE_SERVERS);
    clock.advance(SLICE_MS);
    clock.advance(SLICE_MS);
    expect(new Set(examined)).toEqual(new Set(servers));
    clock.advance(SWEEP_MS);
    expect(examined).toHaveLength(3 * SLICE_SERVERS + 1);
  });

  it('ends with the controller', () => {
    const { clock, sweep, examined } = open(['a']);
    sweep.stop();
    clock.advance(2 * SWEEP_MS);
    expect([examined, clock.pending]).toEqual([[], 0]);
  });
});
