// One run that plans a merge, makes it, and compares the actions, records and holds of the controller with the plan.
import { isSameVersion, unitAddress } from '../../src/desired/unit.ts';
import type { Plan } from '../../src/plan/plan.ts';
import type { Edit } from './actions.ts';
import { Chance } from './chance.ts';
import { EffectWatch, missingAndSurplus, plannedEffects } from './effects.ts';
import { act } from './people.ts';
import { type PlannedMerge, plannedMerge } from './planned-merge.ts';
import { lastTurn } from './scheduler.ts';
import { GLOBAL, LAB, pathOf, type Shape, SMALL, TEMPLATE } from './stacks.ts';
import { anInstance, change, handOver, set, someInstances, unreadName } from './themes/theme.ts';
import { World } from './world.ts';

const MINUTE_MS = 60_000;
/** Everything that waits for nobody is through by then, and no delete counts against the budget any more. */
const REST_MS = 90 * MINUTE_MS;

/** The result of a seed. */
export interface PlanRun {
  readonly seed: number;
  /** `compared`, or the reason why a plan of the commits alone cannot say what happens. */
  readonly kind: 'compared' | 'conflict' | 'not at rest' | 'another state in force' | 'broken promise';
  readonly plan: Plan | undefined;
  /** The differences between the plan and its effects; empty where they are equal. */
  readonly differences: readonly string[];
  readonly actions: number;
  readonly story: readonly string[];
}

/** Returns what became of a seed. The same seed gives the same run. */
export async function planAndApply(seed: number, { isTold = false } = {}): Promise<PlanRun> {
  const chance = new Chance(seed ^ 0x9a1);
  const drift = { north: 'report', south: 'report' } as const;
  const world = new World(
    seed,
    { theme: 'plan', ignoresCase: false, outlives: false, drift, approvesAtEnd: true },
    isTold,
  );
  try {
    return { ...(await run(world, chance)), seed, story: world.story ?? [] };
  } finally {
    world.controller.close();
    await lastTurn();
  }
}

type Outcome = Omit<PlanRun, 'seed' | 'story'>;

async function run(world: World, chance: Chance): Promise<Outcome> {
  const watch = new EffectWatch(world);
  await begin(world, chance);
  const { base, head } = branchOff(world, chance);
  await rest(world);
  if (isHeld(world) || !isIdle(world)) return unplanned('not at rest');
  const planned = await plannedMerge(world.git, base(), head);
  if (planned.files === undefined) return unplanned('conflict');
  if (!isInForce(world, planned)) return unplanned('another state in force');
  const before = watch.now();
  const words = `merge ${head}`;
  const { oid } = world.git.commit(planned.files, { words, parents: [world.git.head, head] });
  world.pushes.pushed(words, oid);
  await rest(world);
  const expected = plannedEffects(planned.plan);
  const differences = missingAndSurplus('at once', expected.atOnce, watch.since(before));
  if (world.violation !== undefined) return { ...unplanned('broken promise'), differences: [world.violation.facts] };
  if (planned.plan.held !== null && differences.length === 0) {
    for (let round = 0; round < 3; round += 1) {
      act(world, { kind: 'approve all' });
      await rest(world);
    }
    differences.push(...missingAndSurplus('once approved', expected.all, watch.since(before)));
  }
  return { kind: 'compared', plan: planned.plan, differences, actions: planned.plan.changes.length };
}

function unplanned(kind: PlanRun['kind']): Outcome {
  return { kind, plan: undefined, differences: [], actions: 0 };
}

/** Some commits come into force, whatever it takes. */
async function begin(world: World, chance: Chance): Promise<void> {
  act(world, { kind: 'commit', edits: someInstances(chance) });
  world.controller.start();
  await rest(world);
  for (let count = chance.below(3); count > 0; count -= 1) {
    act(world, { kind: 'commit', edits: [editOf(chance)] });
    await rest(world);
    act(world, { kind: 'approve all' });
    await rest(world);
  }
}

/** A branch changes something, and perhaps others merge something meanwhile. */
function branchOff(world: World, chance: Chance): { readonly base: () => string; readonly head: string } {
  const from = world.git.head;
  const edits = Array.from({ length: 1 + chance.below(3) }, () => editOf(chance));
  act(world, { kind: 'side', side: 's', edits });
  const head = world.git.sides.get('s') ?? from;
  if (chance.is(0.3)) act(world, { kind: 'commit', edits: [editOf(chance)] });
  return { base: () => world.git.head, head };
}

/** Returns an edit of a pull request: mostly one that makes sense, sometimes a mistake. */
export function editOf(chance: Chance): Edit {
  const layers = [GLOBAL, LAB, SMALL, TEMPLATE] as const;
  return chance.weighted<() => Edit>([
    [10, () => set(anInstance(chance), changed(chance))],
    [3, () => ({ path: chance.pick(layers), value: chance.pick(['1', '2', '3', '4']) })],
    [3, () => handOver(chance, chance.is(0.5) ? {} : changed(chance))],
    [2, () => ({ path: pathOf(anInstance(chance)), is: 'removed' })],
    [2, () => ({ path: pathOf(anInstance(chance)), is: 'corrected' })],
    [2, () => set(anInstance(chance), { web: chance.below(4), db: chance.is(0.5) })],
    [1, () => ({ path: chance.pick([GLOBAL, LAB, SMALL]), is: chance.pick(['removed', 'corrected']) })],
    [1, () => ({ instance: anInstance(chance), name: unreadName(chance) })],
    [1, () => ({ path: pathOf(anInstance(chance)), spoil: chance.pick(['link', 'yml', 'broken', 'folder']) })],
    [1, () => ({ path: chance.pick(layers), spoil: chance.pick(['link', 'broken']) })],
    [1, () => ({ path: `types/clientcert/${anInstance(chance)}-web-1.yaml`, value: chance.pick(['1', '2']) })],
  ])();
}

/** A server that another provider entry is responsible for waits for an operator: which entry that is, Git does not tell. */
function changed(chance: Chance): Partial<Shape> {
  const { site: _, ...shape } = change(chance);
  return shape;
}

async function rest(world: World): Promise<void> {
  world.controller.hint();
  await world.run(world.scheduler.now + REST_MS);
}

function isHeld({ core }: World): boolean {
  return core === undefined || core.operator.held().length > 0 || core.current.refused !== undefined;
}

/** Every server is as it is wanted. */
function isIdle({ core, git, sites, violation }: World): boolean {
  if (violation !== undefined || core?.current.get()?.commit !== git.head) return false;
  const rows = core.ledger.list('server');
  // A retained server that nobody knows any more is in the way of one of its name.
  const isKnown = sites.every((site) => [...site.servers].every(({ name }) => rows.has(name)));
  return isKnown && [...rows.values()].every(({ state, wanted }) => state === 'done' && wanted !== null);
}

/** Protection and approvals are facts of a controller: where they made another version active, the commits do not tell. */
function isInForce({ core }: World, { merge: { before } }: PlannedMerge): boolean {
  const [active, assumed] = [core?.current.get()?.units, before?.units];
  if (active === undefined || assumed === undefined || active.size !== assumed.size) return false;
  return [...active.values()].every((unit) => {
    const other = assumed.get(unitAddress(unit));
    return other !== undefined && isSameVersion(unit, other);
  });
}
