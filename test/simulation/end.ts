// The end of a run: faults are over, people answer what they are asked, time passes; then everything has to be as the
// newest commit wants it, or to wait for somebody who is named.

import { isMade } from '../../src/machine/existence.ts';
import { failuresDigest } from '../../src/machine/hold-digests.ts';
import { isWaiting } from '../../src/machine/needs.ts';
import { isBlockedFor, isStuck, reasonText } from '../../src/machine/reasons.ts';
import { waitReason } from '../../src/machine/wait.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import type { Ledger } from '../../src/reconcile/ledger.ts';
import { siteOfRow } from './build-sites.ts';
import { fileStateOf, validShape } from './edit-files.ts';
import { act, adopt, approve, breakCycles } from './people.ts';
import { outsideNeeds, type Shape, serversOf } from './stacks.ts';
import { INSTANCES } from './themes/theme.ts';
import { differsInCase } from './watch-claims.ts';
import type { World } from './world.ts';

const MINUTE_MS = 60_000;

/** Lets everything settle, and looks whether it did. */
export async function settle(world: World, approves: boolean): Promise<void> {
  for (const site of world.sites) {
    world.setSite(site.options.name, 'well');
    site.leaseAll();
  }
  for (const proxy of world.proxies) {
    proxy.mend();
    proxy.start();
  }
  world.git.mood = 'well';
  world.disk.isFull = false;
  world.disk.slowUntil = 0;
  world.wall.mend();
  world.tell('people', () => 'all faults are over');
  world.controller.start();
  await pass(world, 40 * MINUTE_MS);
  await sweep(world);
  for (const name of world.core?.ledger.list('suspension').keys() ?? []) judgeSuspension(world, name);
  // Each round may uncover the next cycle of waits.
  for (let round = 0; round < 5 && world.violation === undefined; round += 1) {
    peopleAct(world, approves);
    await pass(world, 35 * MINUTE_MS);
    judgeApprovals(world);
  }
  await sweep(world);
  if (approves) judgeAnswers(world);
  if (world.violation === undefined) judge(world);
  if (world.violation === undefined) await watchEvents(world);
}

/** Rewritten history and nothing left may take a yes each; after three rounds of them neither is asked for any more. */
function judgeAnswers(world: World): void {
  const open = world.core?.operator.held().find(({ kind }) => kind === 'history' || kind === 'nothing left');
  if (open !== undefined) world.fail('what was approved comes to pass', `${open.kind}: ${open.digest}`);
}

/** How long after an approval what it is for may still be held: a look at the branch, and a second one. */
const USED_MS = 25 * MINUTE_MS;

/** What was approved is not held any more, unless it came to be held again since, or waits for an accepted history. */
function judgeApprovals(world: World): void {
  // The followed commit is in no copy: nothing is in force, and `held` lists the history beside the deletes.
  if (world.core?.current.get() === undefined && isCommitHeld(world)) return;
  // Stamps of a clock that was set say nothing here.
  if (world.wall.setAt > 0 && world.wall.forwardMs > 0) return;
  for (const { digest, since, kind, instance } of world.core?.operator.held() ?? []) {
    const approved = world.answeredApprovals.get(digest);
    if (approved === undefined || approved > world.wall.now() - USED_MS || Date.parse(since) > approved) continue;
    world.fail('what was approved comes to pass', `${kind} of ${instance ?? 'the commit'}: ${digest}`);
  }
}

async function pass(world: World, ms: number): Promise<void> {
  await world.run(world.scheduler.now + ms);
}

function peopleAct(world: World, approves: boolean): void {
  const { core } = world;
  if (core === undefined) return;
  for (const name of core.ledger.list('suspension').keys()) {
    act(world, { kind: 'resume', instance: name === '*' ? null : name });
  }
  breakCycles(world);
  if (!approves) return;
  adopt(world, null);
  for (const { digest } of core.operator.held()) approve(world, digest);
}

/** Has every server looked at: whoever had something to do and did not know it slept through a wake-up. */
async function sweep(world: World): Promise<void> {
  const { core } = world;
  // While nothing is in force no server is enqueued: nothing could say what its record holds.
  if (core?.current.get() === undefined || world.violation !== undefined || world.calls.running > 0) return;
  if (world.scheduler.next < world.scheduler.now + 30_000) return;
  const before = new Map(core.ledger.list('server'));
  const { count } = world.calls;
  world.tell('sweep', () => 'looks at every server');
  core.reconciler.enqueue(before.keys(), 'sweep');
  await pass(world, 20_000);
  if (world.violation !== undefined) return;
  const woken = [...before].find(([name, row]) => core.ledger.server(name) !== row);
  if (woken !== undefined)
    world.fail('no wake-up is lost', `${woken[0]} was ${woken[1].state} and had something to do`);
  else if (world.calls.count > count) world.fail('no wake-up is lost', 'a call began because somebody looked');
}

function judge(world: World): void {
  if (world.core?.current.get() === undefined) {
    judgeUnready(world);
    return;
  }
  judgeFollowed(world);
  world.poll();
  for (const [name] of world.core.ledger.list('server')) judgeRow(world, name);
  for (const name of world.core.ledger.list('suspension').keys()) judgeSuspension(world, name);
  judgeHeld(world, world.core.ledger);
  for (const site of world.sites) for (const server of site.servers) judgeServer(world, site.options.name, server.name);
  judgeWanted(world);
}

/** Nobody is asked about servers that turned out never to have been made, or that are gone. */
function judgeHeld(world: World, ledger: Pick<Ledger, 'list' | 'server'>): void {
  const isUnmade = (name: string): boolean => {
    const row = ledger.server(name);
    return row === undefined || !isMade(row);
  };
  for (const [instance, { servers }] of ledger.list('held')) {
    const unmade = servers.filter(isUnmade);
    if (unmade.length > 0) world.fail('a hold is for servers that are there', `${unmade.join(', ')} of ${instance}`);
  }
}

/** Nothing is in force: only a head that cannot be taken, or that waits for a yes, excuses that. */
function judgeUnready(world: World): void {
  if (isCommitHeld(world)) return;
  const line = world.git.firstParents(world.git.head);
  if (line.some(({ files }) => files.has('tree.yaml'))) {
    world.fail('the controller comes up', `nothing is followed: ${world.core?.follower.notReadyReason}`);
  }
}

function isCommitHeld({ core }: World): boolean {
  return core?.operator.held().some(({ kind }) => kind === 'history' || kind === 'nothing left') === true;
}

/** The newest commit is followed, or held, or wrong as a whole. */
function judgeFollowed(world: World): void {
  const { core, git } = world;
  const refused = core?.current.refused;
  const followed = core?.current.get()?.commit;
  if (followed === git.head || refused?.commit === git.head) return;
  world.fail('the newest commit is followed or refused', `${git.head}, but ${followed} is in force`);
}

/** A suspension ends with its instance, or a later one of that name would inherit it. */
function judgeSuspension(world: World, name: string): void {
  if (world.core?.current.get() === undefined) return;
  const isKnown = name === '*' || world.core.reader.instances().some((instance) => instance.name === name);
  if (!isKnown) world.fail('a suspension ends with its instance', `${name} is suspended, and does not exist`);
}

const WAITS_FOR_PEOPLE = [
  ...(['exists_already', 'no_provider', 'provider_changed', 'protected'] as const),
  ...(['no_output', 'output_fight'] as const),
];

/** A row is at rest, or says whom it waits for. */
function judgeRow(world: World, name: string): void {
  const row = world.core?.ledger.server(name);
  if (row === undefined || world.core === undefined) return;
  const isHeld = world.core.ledger.read('held', row.instance) !== undefined;
  const isBlocked = isBlockedFor(row, ...WAITS_FOR_PEOPLE);
  if (isWaiting(row.state) && row.reason === null && world.core.reconciler.waitsOf(name) === undefined) {
    world.fail('whoever waits says for what', `${name} is ${row.state}, and nobody knows why`);
  }
  if (isHeld || isBlocked) return;
  if (row.wanted !== null && (row.state === 'done' || row.state === 'drifted')) return;
  if (waitsForBlocked(world, name)) return;
  const wanted = row.wanted === null ? 'unwanted' : 'wanted';
  const wait = world.core.reconciler.waitsOf(name);
  const words = [reasonText(row.reason), wait === undefined ? '' : waitReason(wait)]
    .filter((text) => text !== '')
    .join('; ');
  world.fail(
    'everything is at rest or waits for a stated time or person',
    `${name} is ${row.state}, ${wanted}: ${words}`,
  );
}

/** Something that it depends on, or that depends on it, waits for an operator. */
function waitsForBlocked(world: World, name: string, seen: ReadonlySet<string> = new Set()): boolean {
  const ledger = world.core?.ledger;
  const row = ledger?.server(name);
  if (ledger === undefined || row === undefined || seen.has(name)) return false;
  if (ledger.read('held', row.instance) !== undefined || row.state === 'blocked' || isStuck(row)) return true;
  if (row.reason?.code === 'many_gone') return true;
  if (row.state === 'pending' && waitsForApproval(world, row)) return true;
  // What is wrong beside it keeps it as it was, until somebody mends that.
  if (world.followed.last?.staying.has(row.instance) === true) return true;
  const next = row.wanted === null ? ledger.index.dependentsOf(name) : row.wanted.dependsOn;
  const siblings = row.wanted === null || row.applied === null ? [] : groupOf(ledger.list('server'), row);
  const visited = new Set([...seen, name]);
  return [...next, ...siblings].some((other) => waitsForBlocked(world, other, visited));
}

/** The roll-out of its commit is held: those that failed wait for an operator, and nobody has approved the rest. */
function waitsForApproval({ core }: World, { commit, wanted, applied }: ServerRow): boolean {
  const isUpdate = wanted !== null && applied !== null;
  return isUpdate && core?.operator.held().some(({ digest }) => digest === failuresDigest(commit)) === true;
}

function groupOf(rows: ReadonlyMap<string, ServerRow>, { instance, key }: ServerRow): string[] {
  return [...rows].filter(([, row]) => row.instance === instance && row.key === key).map(([name]) => name);
}

/** A server that a controller made is known to a row, or was retained. */
function judgeServer(world: World, at: string, name: string): void {
  const server = world.site(at).find(name);
  if (server?.maker !== 'controller' || world.orphans.has(name) || world.core?.ledger.server(name) !== undefined)
    return;
  const isRetained = [...world.git.commits].some(({ files }) =>
    INSTANCES.some((instance) => {
      const shape = fileStateOf(files, instance);
      return typeof shape !== 'string' && shape.retain;
    }),
  );
  if (!isRetained) world.fail('nothing exists that no row knows', `${name} at ${at}`);
}

/** Where nothing in the newest commit stands in the way, every instance is in force and its servers are there. */
function judgeWanted(world: World): void {
  const last = world.followed.last;
  // It may be followed in one directory, and held in the one that the settings name now.
  if (last === undefined || last.commit !== world.git.head || isCommitHeld(world)) return;
  const shapes = new Map<string, Shape>();
  for (const instance of INSTANCES) {
    if (fileStateOf(last.files, instance) === 'absent') continue;
    const shape = validShape(last.files, instance);
    if (shape === undefined) return;
    shapes.set(instance, shape);
  }
  if (!getAlong([...shapes.values()])) return;
  const held = world.core?.ledger.list('held');
  for (const [instance, shape] of shapes) {
    if (held?.has(instance) === true || differsInCase(shape, world)) continue;
    const isStuck = wasProtected(world, instance);
    if (last.staying.has(instance)) {
      if (!isStuck && !isAnyHeld(world))
        world.fail('what is right comes into force', `${instance} stays as it was at ${last.commit}`);
      continue;
    }
    for (const name of serversOf(shape)) {
      const row = world.core?.ledger.server(name);
      if (row === undefined || row.wanted === null)
        world.fail('every wanted server is there', `${name} of ${instance}`);
      else judgeHealed(world, name, row);
    }
  }
}

/** Whoever is checked and done is as wanted; whoever is healed differs only where healing has stopped. */
function judgeHealed(world: World, name: string, row: ServerRow): void {
  const policy = world.drift.policyOf(row);
  const site = siteOfRow(row);
  const server = site === null ? undefined : world.site(site).find(name);
  const { state, wanted } = row;
  // Nothing checks it by itself where drift is off; so nobody knows of a server that was deleted since a restored backup.
  if (state === 'done' && server === undefined && !(policy === 'off' && world.goneUnasked.has(name))) {
    world.fail('every wanted server is there', `${name} is done, and nowhere`);
  }
  if (
    state === 'done' &&
    policy !== 'off' &&
    server !== undefined &&
    server.properties.size !== wanted?.properties.size
  ) {
    const words = `${name} is done, and has the size ${String(server.properties.size)}`;
    world.fail('what somebody changed is found', words);
  }
  const isLeft = row.reason?.code === 'drift_fight' || row.reason?.code === 'many_gone';
  // One that was adopted where no commit wants it any more is an operator's.
  const isElsewhere = wanted !== null && wanted.properties.site !== site;
  if (state === 'drifted' && policy === 'heal' && !isLeft && !isElsewhere) {
    world.fail('what may be healed is healed', `${name} is drifted: ${reasonText(row.reason)}`);
  }
}

function isAnyHeld(world: World): boolean {
  return INSTANCES.some((instance) => wasProtected(world, instance)) || (world.core?.ledger.list('held').size ?? 0) > 0;
}

/** Whether a version that was followed, or one on the way to it, protected the instance, even one that is wrong. */
function wasProtected({ followed, git }: World, instance: string): boolean {
  const heads = [...followed.all.map(({ commit }) => commit), git.head];
  const passed = new Set(heads.flatMap((head) => git.firstParents(head)));
  return [...passed].some(({ files }) => {
    const shape = fileStateOf(files, instance);
    return typeof shape !== 'string' && shape.protected;
  });
}

/** Names are not taken twice, needs are met, and nothing needs itself. */
function getAlong(shapes: readonly Shape[]): boolean {
  const names = shapes.flatMap(serversOf);
  if (new Set(names.map((name) => name.toLowerCase())).size < names.length) return false;
  // Circles over several instances are left to others: an outside need of any kind only counts where it is harmless.
  return shapes.every((shape) => outsideNeeds(shape).length === 0);
}

/** A store keeps so many events of an instance: where there may have been more, nothing is compared. */
const KEPT_MAX = 1_000;

/** After whatever crashes, the last event of every server tells the state that its row has. */
async function watchEvents(world: World): Promise<void> {
  const ledger = world.core?.ledger;
  if (ledger === undefined) return;
  const instances = new Set([...ledger.list('server').values()].map(({ instance }) => instance));
  for (const instance of instances) {
    const { events } = await ledger.listEvents({ after: 0, limit: KEPT_MAX, instances: new Set([instance]) });
    if (events.length >= KEPT_MAX) continue;
    const told = new Map(events.map(({ event: { resource, to } }) => [resource, to]));
    for (const name of ledger.index.serversOf(instance)) {
      const { state } = ledger.server(name) ?? {};
      if (state === undefined || told.get(name) === state) continue;
      world.fail('events tell what the rows say', `${name} is ${state}, and its last event says ${told.get(name)}`);
    }
  }
}
