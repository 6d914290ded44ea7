// How a replica switches between its roles: one at a time, the newest wish wins, and what cannot be built is tried again.
import { describe, expect, it } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import { type RoleName, Roles } from '../../src/compose/roles.ts';
import { ManualClock } from '../support/manual-clock.ts';

class Scene {
  readonly clock = new ManualClock();
  readonly lines: string[] = [];
  readonly log = createLog('info', { write: (line) => this.lines.push(line) });
  /** What was begun and ended, in order. */
  readonly course: string[] = [];
  readonly failures: Partial<Record<RoleName, number>> = {};
  shown: string | undefined;
  /** Resolves what is being built or stopped. */
  gate: Promise<unknown> = Promise.resolve();
  #count = 0;

  begin(name: RoleName): Promise<Roles<{ readonly id: string; stop(): Promise<void> }>> {
    const make = (role: RoleName) => async () => {
      const id = `${role} ${++this.#count}`;
      this.course.push(`build ${id}`);
      await this.gate;
      if ((this.failures[role] ?? 0) > 0) {
        this.failures[role] = (this.failures[role] ?? 0) - 1;
        throw new Error(`no ${role} now`);
      }
      const stop = async (): Promise<void> => {
        this.course.push(`stop ${id}`);
        await this.gate;
      };
      return { id, stop };
    };
    const show = (role: { readonly id: string } | undefined): void => {
      this.shown = role?.id;
    };
    const { clock, log } = this;
    return Roles.begin({ make: { leader: make('leader'), standby: make('standby') }, show, clock, log }, name);
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  }
}

describe('the roles of a replica', () => {
  it('follow one another, each once the one before has stopped', async () => {
    const scene = new Scene();
    const roles = await scene.begin('standby');
    expect(scene.shown).toBe('standby 1');
    const { promise, resolve } = Promise.withResolvers<void>();
    scene.gate = promise;
    void roles.switchTo('leader');
    await scene.settle();
    expect([scene.shown, scene.course]).toEqual([undefined, ['build standby 1', 'stop standby 1']]);
    resolve();
    await scene.settle();
    expect([scene.shown, scene.course.at(-1)]).toEqual(['leader 2', 'build leader 2']);
    await roles.stop();
    expect([scene.shown, scene.course.at(-1)]).toEqual([undefined, 'stop leader 2']);
  });

  it('are built anew for who leads, loses the lead and leads again before the first has stopped', async () => {
    const scene = new Scene();
    const roles = await scene.begin('leader');
    const { promise, resolve } = Promise.withResolvers<void>();
    scene.gate = promise;
    void roles.switchTo('standby');
    await scene.settle();
    void roles.switchTo('leader');
    resolve();
    await scene.settle();
    expect(scene.course.filter((step) => step.includes('leader'))).toEqual([
      'build leader 1',
      'stop leader 1',
      'build leader 3',
    ]);
    expect(scene.shown).toBe('leader 3');
  });

  it('tell when the role before has stopped, to all who have asked for another one since', async () => {
    const scene = new Scene();
    const roles = await scene.begin('leader');
    const { promise, resolve } = Promise.withResolvers<void>();
    scene.gate = promise;
    const told: boolean[] = [];
    for (const name of ['standby', 'leader'] as const) {
      void roles.switchTo(name).then(() => told.push(scene.course.includes('stop leader 1')));
    }
    await scene.settle();
    expect(told).toEqual([]);
    resolve();
    await scene.settle();
    expect(told).toEqual([true, true]);
    await roles.stop();
    await roles.switchTo('standby');
  });

  it('show nothing that is not wanted any more when it is built', async () => {
    const scene = new Scene();
    const roles = await scene.begin('standby');
    const shown: (string | undefined)[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    void roles.switchTo('leader');
    await scene.settle();
    scene.gate = promise;
    void roles.switchTo('leader');
    await scene.settle();
    void roles.switchTo('standby');
    shown.push(scene.shown);
    resolve();
    await scene.settle();
    expect(shown).toEqual([undefined]);
    expect(scene.shown).toMatch(/^standby/);
    const running =
      scene.course.filter((step) => step.startsWith('build')).length -
      scene.course.filter((step) => step.startsWith('stop')).length;
    expect(running).toBe(1);
  });

  it('try again what cannot be built, with longer pauses, and at once where another role is wanted', async () => {
    const scene = new Scene();
    const roles = await scene.begin('standby');
    scene.failures.leader = 3;
    void roles.switchTo('leader');
    await scene.settle();
    expect([scene.shown, scene.clock.pending]).toEqual([undefined, 1]);
    scene.clock.advance(1_000);
    await scene.settle();
    scene.clock.advance(1_000);
    await scene.settle();
    expect(scene.course.filter((step) => step.startsWith('build leader'))).toHaveLength(2);
    void roles.switchTo('standby');
    await scene.settle();
    expect(scene.shown).toMatch(/^standby/);
    expect(scene.lines.join('')).toContain('this replica cannot become the leader: no leader now');
  });

  it('begin with what the first one throws', async () => {
    const scene = new Scene();
    scene.failures.leader = 1;
    await expect(scene.begin('leader')).rejects.toThrow('no leader now');
  });

  it('end for good, also while one cannot be built', async () => {
    const scene = new Scene();
    const roles = await scene.begin('standby');
    scene.failures.leader = 100;
    void roles.switchTo('leader');
    await scene.settle();
    await roles.stop();
    void roles.switchTo('standby');
    await scene.settle();
    expect([scene.shown, scene.course.at(-1)?.startsWith('build leader'), scene.clock.pending]).toEqual([
      undefined,
      true,
      0,
    ]);
  });
});
