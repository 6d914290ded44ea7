// One history played in several ways: each commit brought to rest, all of them in one poll, in groups, and with restarts or losses between.
// No way may delete or replace a server that the first one keeps, or make one twice.
import type { Changes, Deed, Edit, Loses } from './actions.ts';
import { Chance } from './chance.ts';
import { act, approve } from './people.ts';
import { lastTurn } from './scheduler.ts';
import { FOREIGN_URL, PARTIAL_DIRECTORY } from './simulated-git.ts';
import type { SiteServer } from './simulated-site.ts';
import { GLOBAL, LAB, PLAIN, pathOf, SMALL, TEMPLATE } from './stacks.ts';
import { anInstance, changeOf, handOver, INSTANCES, SITES, scaleIn, set, unreadName } from './themes/theme.ts';
import { World } from './world.ts';

const MINUTE_MS = 60_000;
/** Everything that waits for nobody is through by then, and no delete counts against the budget any more. */
const REST_MS = 90 * MINUTE_MS;
/** A request is answered by then. One that is not may have had no effect. */
const ANSWERED_MS = 5_000;

export const WAYS = [
  'one by one',
  'in one poll',
  'in groups',
  'with restarts',
  'with losses',
  'with other lives',
] as const;
export type Way = (typeof WAYS)[number];

/** The result of a seed: what each way did that the first one did not do. */
export interface VariantsRun {
  readonly seed: number;
  readonly differences: readonly string[];
  /** How many servers the first way kept from begin to end, and how many it deleted or replaced. */
  readonly kept: number;
  readonly lost: number;
  /** The events of each way, where they were asked for. */
  readonly story: readonly string[];
}

/** What people do, whatever the way. */
export interface History {
  readonly first: readonly Edit[];
  readonly steps: readonly Deed[];
}

/** What became of the servers in one way of playing a history. */
export interface Played {
  /** Servers that were there before the history began, and those that are there at its end. */
  readonly first: readonly Found[];
  readonly last: readonly Found[];
  /** The names of the servers whose deletes have waited for an approval. */
  readonly held: ReadonlySet<string>;
  /** The names of all servers of which a site was asked a delete: one that is still there has the site to thank, which did not delete it. */
  readonly condemned: ReadonlySet<string>;
  /** When the whole directory of the store was lost, in simulated time. */
  readonly lostAt: readonly number[];
}

interface PlayedOnce extends Played {
  readonly broken: string | undefined;
  readonly story: readonly string[];
}

/** Returns what became of a seed, or of a history that is given. The same seed gives the same run. */
export async function playVariants(
  seed: number,
  { isTold = false, history }: { readonly isTold?: boolean; readonly history?: History } = {},
): Promise<VariantsRun> {
  const reference = await play(seed, { way: 'one by one', history, isTold });
  const kept = identitiesIn(reference.first).intersection(identitiesIn(reference.last));
  const differences = reference.broken === undefined ? [] : [`one by one: ${reference.broken}`];
  const story = [...reference.story];
  for (const way of WAYS.slice(1)) {
    const played = await play(seed, { way, history, isTold });
    story.push(...played.story);
    const wrong = [...(played.broken === undefined ? [] : [played.broken]), ...differencesOf(reference, played)];
    differences.push(...wrong.map((words) => `${way}: ${words}`));
  }
  return { seed, differences, kept: kept.size, lost: reference.first.length - kept.size, story };
}

/** Returns what a way of playing a history lost that the first way keeps, and what it made twice. */
export function differencesOf(reference: Played, played: Played): readonly string[] {
  const [last, stayed] = [identitiesIn(played.last), identitiesIn(reference.last)];
  const isLost = (server: Found): boolean =>
    stayed.has(identityOf(server)) && !last.has(identityOf(server)) && !reference.condemned.has(server.name);
  // One by one, a commit in between is held for what a later one takes back or corrects. Each way watches its own holds.
  const lost = reference.first.filter((server) => isLost(server) && !reference.held.has(server.name));
  const known = doublesOf(reference);
  const twice = doublesOf(played).filter((name) => !known.includes(name));
  return [
    ...(lost.length > 0 ? [`deleted or replaced ${lost.map(identityOf).join(', ')}`] : []),
    ...(twice.length > 0 ? [`made twice: ${twice.join(', ')}`] : []),
  ];
}

interface Playing {
  readonly way: Way;
  /** Undefined: the seed's own. */
  readonly history: History | undefined;
  readonly isTold: boolean;
}

async function play(seed: number, { way, history, isTold }: Playing): Promise<PlayedOnce> {
  const chance = new Chance(seed ^ 0x51d);
  const drift = { north: 'report', south: 'report' } as const;
  const settings = { theme: 'variants', ignoresCase: chance.is(0.1), outlives: chance.is(0.3), drift };
  const world = new World(seed, { ...settings, approvesAtEnd: false }, isTold);
  world.tell('people', () => `play the history ${way}`);
  const drawn = { first: firstEdits(chance), steps: stepsOf(new Chance(seed ^ 0x7c3)) };
  const { first: edits, steps } = history ?? drawn;
  let held: ReadonlySet<string> = new Set();
  try {
    act(world, { kind: 'commit', edits });
    act(world, { kind: 'start' });
    await rest(world);
    const first = serversIn(world);
    for (const step of steps) {
      // Commits that come while the remote is away are not followed one by one.
      if (step.kind === 'remote' && way === 'one by one') continue;
      // What allows something is asked by somebody who sees what everybody else has done so far.
      if (isAllowing(step) || hasTrailer(step)) await rest(world);
      else if (isRequest(step)) await comeUp(world);
      if (step.kind === 'approve all') approveAll(world);
      else act(world, step);
      await world.settleTurn();
      if (isAllowing(step) || isRequest(step)) await world.run(world.scheduler.now + ANSWERED_MS);
      // A trailer also approves the deletes of later commits that arrive with it.
      if (hasTrailer(step)) await rest(world);
      // What was suspended since the backup is not suspended any more where that is restored.
      if (way === 'with other lives' && (step.kind === 'suspend' || chance.is(0.5))) act(world, { kind: 'back up' });
      await pause(world, way, chance);
      held = held.union(heldIn(world));
      condemnUnknown(world);
    }
    for (const { options } of world.sites) world.setSite(options.name, 'well');
    world.git.mood = 'well';
    world.controller.start();
    await rest(world);
    await rest(world);
    held = held.union(heldIn(world));
    const { violation } = world;
    return {
      first,
      last: serversIn(world),
      held,
      condemned: world.calls.condemned,
      lostAt: world.controller.lostAt,
      broken: violation === undefined ? undefined : `${violation.promise}: ${violation.facts}`,
      story: world.story ?? [],
    };
  } finally {
    world.controller.close();
    await lastTurn();
    for (const site of world.sites) site.close();
  }
}

/** Approves what is held but for a history, which is held in no way one by one: whoever accepts it passes over what its commits say between. */
function approveAll(world: World): void {
  if (world.core === undefined) return;
  for (const { digest, kind } of world.core.operator.held()) if (kind !== 'history') approve(world, digest);
}

/** Lets the time pass that a way leaves between two steps. */
async function pause(world: World, way: Way, chance: Chance): Promise<void> {
  const luck = chance.next();
  if (way === 'one by one') await rest(world);
  else if (way === 'in groups' && luck < 0.4) await rest(world);
  else if (way === 'in groups' && luck < 0.6) await shortly(world, chance);
  else if (way === 'with restarts' && luck < 0.7) {
    if (luck < 0.35) await shortly(world, chance);
    world.controller.crash('nothing', chance.pick([0, 1_000, 100_000]));
    if (luck > 0.5) await shortly(world, chance);
  } else if (way === 'with losses' && luck < 0.6) {
    await (luck < 0.3 ? rest(world) : shortly(world, chance));
    world.controller.crash(chance.pick(['copy', 'store', 'store']), 1_000);
    await comeUp(world);
  } else if (way === 'with other lives' && luck < 0.6) await liveOtherwise(world, chance);
}

/** The controller ends, and the next one finds something else than it has left. */
async function liveOtherwise(world: World, chance: Chance): Promise<void> {
  await (chance.is(0.5) ? rest(world) : shortly(world, chance));
  const stop = (changes: Changes, loses: Loses = 'nothing'): void => world.controller.crash(loses, 1_000, changes);
  const { place } = world.git;
  await chance.weighted<() => Promise<void>>([
    [2, async () => stop({ kind: anotherKind(chance) })],
    [2, async () => stop({}, 'since backup')],
    [1, async () => stop({ place: { url: 'simulated, by another protocol' } }, chance.pick(['nothing', 'copy']))],
    [1, async () => await moveLayout(world, chance)],
    [
      3,
      async () => {
        stop({ place: aWrongPlace(chance) }, chance.pick(['nothing', 'copy']));
        await comeUp(world);
        await (chance.is(0.5) ? rest(world) : shortly(world, chance));
        stop({ place }, chance.pick(['nothing', 'copy']));
      },
    ],
  ])();
  await comeUp(world);
}

function anotherKind(chance: Chance): NonNullable<Changes['kind']> {
  const ends = chance.pick(['with the controller', 'with its call', 'after its deadline'] as const);
  return { site: chance.pick(SITES), ends };
}

function aWrongPlace(chance: Chance): NonNullable<Changes['place']> {
  return chance.pick<NonNullable<Changes['place']>>([
    { url: FOREIGN_URL },
    { directory: PARTIAL_DIRECTORY },
    { directory: 'empty' },
  ]);
}

/** The commit may be polled before the settings name the new directory. */
async function moveLayout(world: World, chance: Chance): Promise<void> {
  const directory = 'platform';
  // A branch that began before has the layout where it was.
  if (world.git.place.directory === directory || world.git.sides.size > 0) return;
  act(world, { kind: 'move', directory });
  if (chance.is(0.5)) await shortly(world, chance);
  world.controller.crash(chance.pick(['nothing', 'copy']), 1_000, { place: { directory } });
}

async function rest(world: World): Promise<void> {
  world.controller.start();
  world.controller.hint();
  await world.run(world.scheduler.now + REST_MS);
}

/** A poll begins, and may not be over when the next step comes. */
async function shortly(world: World, chance: Chance): Promise<void> {
  world.controller.hint();
  await world.run(world.scheduler.now + chance.pick([5, 60, 600, 5_000, 60_000]));
}

/** Waits until a controller answers requests. */
async function comeUp(world: World): Promise<void> {
  world.controller.start();
  for (let second = 0; second < 600 && world.core?.current.get() === undefined; second += 1) {
    await world.run(world.scheduler.now + 1_000);
  }
}

function isRequest({ kind }: Deed): boolean {
  return kind === 'suspend' || kind === 'put';
}

function isAllowing({ kind }: Deed): boolean {
  return kind === 'resume' || kind === 'delete' || kind === 'approve all' || kind === 'replace';
}

/** A trailer allows a number of deletes: its author sees how many there are. */
function hasTrailer(deed: Deed): boolean {
  return deed.kind === 'commit' && deed.approves !== undefined;
}

/** A server, and the site where it is. */
export interface Found extends Pick<SiteServer, 'name' | 'maker' | 'builtAt'> {
  readonly site: string;
}

function serversIn(world: World): readonly Found[] {
  return world.sites.flatMap((site) =>
    [...site.servers].map(({ name, maker, builtAt }) => ({ name, maker, builtAt, site: site.options.name })),
  );
}

function identitiesIn(servers: readonly Found[]): ReadonlySet<string> {
  return new Set(servers.map(identityOf));
}

function identityOf({ site, name, builtAt }: Found): string {
  return `${name} at ${site} since ${builtAt}`;
}

/** Returns the names of the servers whose deletes wait for an approval. */
function heldIn(world: World): ReadonlySet<string> {
  return new Set([...(world.core?.ledger.list('held').values() ?? [])].flatMap(({ servers }) => servers));
}

/** Notes the servers that are to go and do not, only because a site cannot tell how their last action ended. */
function condemnUnknown({ core, calls }: World): void {
  for (const [name, { instance, state, wanted, policy }] of core?.ledger.list('server') ?? []) {
    const isToGo = state === 'unknown' && wanted === null && policy.deletion === 'delete';
    if (isToGo && core?.ledger.read('held', instance) === undefined) calls.condemned.add(name);
  }
}

/**
 * Returns the names, without regard to case, under which controllers have made several servers. One that was made before the
 * whole directory of the store was lost is known to none that comes later and looks for it elsewhere, or under another
 * spelling: docs/decisions/0006-recovery.md.
 */
function doublesOf({ last, lostAt }: Played): readonly string[] {
  const made = last.filter(({ maker }) => maker === 'controller').sort((a, b) => a.builtAt - b.builtAt);
  const isKnown = (earlier: Found, later: Found): boolean =>
    !lostAt.some((time) => earlier.builtAt <= time && time <= later.builtAt);
  const isDouble = (server: Found, index: number, all: readonly Found[]): boolean =>
    all.slice(0, index).some((earlier) => isKnown(earlier, server));
  return [...Map.groupBy(made, ({ name }) => name.toLowerCase())].flatMap(([name, all]) =>
    all.some(isDouble) ? [name] : [],
  );
}

function firstEdits(chance: Chance): readonly Edit[] {
  return INSTANCES.slice(0, 2 + chance.below(3)).map((instance) =>
    set(instance, {
      ...PLAIN,
      prefix: instance,
      web: 1 + chance.below(3),
      db: chance.is(0.4),
      protected: chance.is(0.25),
      retain: chance.is(0.25),
    }),
  );
}

function stepsOf(chance: Chance): readonly Deed[] {
  return Array.from({ length: 2 + chance.below(6) }, () => stepOf(chance));
}

/** Returns a step: mostly a commit that changes what happens to servers that go, or that has some go. */
function stepOf(chance: Chance): Deed {
  return chance.weighted<() => Deed>([
    [20, () => commitOf(chance)],
    [2, () => ({ kind: 'revert' })],
    [1, () => ({ kind: 'side', side: 's', edits: [policyOf(chance)] })],
    [1, () => ({ kind: 'merge', side: 's', edits: [], isPulled: chance.is(0.3) })],
    [2, () => ({ kind: 'suspend', instance: anInstance(chance), forMs: chance.is(0.8) ? null : 40 * MINUTE_MS })],
    [1, () => ({ kind: 'resume', instance: anInstance(chance) })],
    [3, () => ({ kind: 'approve all' })],
    [1, () => ({ kind: 'delete', instance: anInstance(chance) })],
    [1, () => ({ kind: 'put', instance: anInstance(chance), set: { size: chance.pick(['2', '3']) } })],
    [1, () => ({ kind: 'site', site: 'north', mood: chance.pick(['well', 'failing', 'dead', 'refusing']) })],
    [1, () => ({ kind: 'remote', mood: chance.pick(['well', 'well', 'gone', 'loses answers']) })],
  ])();
}

function commitOf(chance: Chance): Deed {
  const edits = Array.from({ length: chance.is(0.8) ? 1 : 2 }, () => editOf(chance));
  return { kind: 'commit', edits, ...(chance.is(0.1) ? { approves: 1 + chance.below(6) } : {}) };
}

function editOf(chance: Chance): Edit {
  const layers = [GLOBAL, LAB, SMALL, TEMPLATE] as const;
  return chance.weighted<() => Edit>([
    [6, () => policyOf(chance)],
    [4, () => scaleIn(chance)],
    [3, () => ({ path: pathOf(anInstance(chance)), is: 'removed' })],
    [3, () => ({ path: pathOf(anInstance(chance)), is: 'corrected' })],
    [3, () => handOver(chance, chance.is(0.5) ? {} : { web: chance.below(3) })],
    [2, () => set(anInstance(chance), { web: 2 + chance.below(2), db: chance.is(0.5) })],
    [2, () => changeOf(chance)],
    [1, () => ({ path: chance.pick(layers), value: chance.pick(['1', '2', '3']) })],
    [1, () => ({ instance: anInstance(chance), name: unreadName(chance) })],
    [1, () => ({ path: pathOf(anInstance(chance)), spoil: chance.pick(['link', 'yml', 'broken', 'folder']) })],
    [1, () => ({ path: chance.pick(layers), is: chance.pick(['removed', 'corrected']) })],
  ])();
}

function policyOf(chance: Chance): Edit {
  const policy = chance.is(0.5) ? { protected: chance.is(0.5) } : { retain: chance.is(0.5) };
  return set(anInstance(chance), policy);
}
