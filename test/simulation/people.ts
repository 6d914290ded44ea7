// People at work: each deed of a script, done to the repository, the sites or the running controller.
import type { WiredCore } from '../../src/compose/core.ts';
import { isMade } from '../../src/machine/existence.ts';
import type { Client } from '../../src/model/objects.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import type { Order, Target } from '../../src/service/answers.ts';
import { allowed } from '../support/allowed.ts';
import type { Deed, Edit } from './actions.ts';
import { edited, isGone, merged } from './edit-files.ts';
import {
  fieldsOf,
  instanceFile,
  type ModelFile,
  type ModelFiles,
  PLAIN,
  pathOf,
  type Shape,
  serversOf,
  TEMPLATE,
} from './stacks.ts';
import type { World } from './world.ts';

const ADMINISTRATOR: Client = {
  name: 'A1',
  type: 'client',
  description: '',
  role: 'administrator',
  fingerprint: '',
  serial: 'A1',
  tenant: '',
};
/** Who asks for operations. */
export const ORDER: Order = { ...allowed(ADMINISTRATOR), reason: '' };

/** How long a disk stays full at most: somebody sees to it. */
const FULL_MS = 60_000;

type Doing = {
  readonly [Kind in Deed['kind']]: (world: World, deed: Extract<Deed, { kind: Kind }>) => void;
};

/** Asks the running controller; whoever asks one that is down gets no answer. */
type Asking<Kind extends Deed['kind']> = (core: WiredCore, world: World, deed: Extract<Deed, { kind: Kind }>) => void;

function asking<Kind extends Deed['kind']>(ask: Asking<Kind>): Doing[Kind] {
  return ((world: World, deed: Extract<Deed, { kind: Kind }>) => {
    if (world.core === undefined) return;
    ask(world.core, world, deed);
  }) as Doing[Kind];
}

const DOING: Doing = {
  commit: (world, { edits, approves }) => commit(world, edits, approves),
  side: (world, { side, edits }) => commitAside(world, side, edits),
  merge: (world, deed) => merge(world, deed),
  rewrite: (world, { back, edits }) => rewrite(world, back, edits),
  revert: (world) => revert(world),
  start: (world) => world.controller.start(),
  stop: (world, { loses, downMs, changes }) => world.controller.crash(loses, downMs, changes),
  'back up': (world) => world.controller.backUp(),
  move: (world, { directory }) => {
    const { git } = world;
    const words = `the layout is moved to ${directory}`;
    world.pushes.pushed(words, git.commit(git.at(git.head).files, { words, directory }).oid);
  },
  poll: (world) => world.controller.hint(),
  stranger: (world, { name, site }) => {
    if (world.site(site).build(name)) world.tell(site, () => `a stranger builds ${name}`);
  },
  vanish: (world, { name, site }) => vanish(world, name, site),
  lease: (world, { name, site, address }) => {
    world.site(site).lease(name, address);
    world.tell(site, () => `${name} has the address ${address} from now on`);
  },
  tamper: (world, { name, site, size }) => {
    if (!world.site(site).tamper(name, size)) return;
    world.tell(site, () => `a stranger gives ${name} the size ${size}`);
  },
  proxy: (world, { proxy, does, ms }) => {
    const found = world.proxies.find(({ options }) => options.serial === proxy);
    if (does === 'stop') found?.stop(ms);
    else found?.cut(ms);
  },
  site: (world, { site, mood }) => world.setSite(site, mood),
  remote: (world, { mood }) => {
    world.git.mood = mood;
    world.tell('remote', () => mood);
  },
  disk: (world, { isFull }) => {
    world.disk.isFull = isFull;
    world.tell('disk', () => (isFull ? 'is full' : 'has room'));
    if (isFull) world.scheduler.after(FULL_MS, null, () => (world.disk.isFull = false));
  },
  'slow disk': (world, { ms }) => {
    world.disk.slowUntil = world.scheduler.now + ms;
    world.tell('disk', () => 'is slow');
  },
  clock: (world, { ms }) => {
    world.wall.step(ms);
    world.tell('clock', () => `is set ${ms > 0 ? 'forward' : 'back'} by ${Math.abs(ms) / 1000} s`);
  },
  approve: asking<'approve'>(({ operator }, world, { pick }) => {
    const items = operator.held();
    const item = items[pick % Math.max(1, items.length)];
    if (item !== undefined) approve(world, item.digest);
  }),
  'approve all': asking<'approve all'>(({ operator }, world) => {
    for (const { digest } of operator.held()) approve(world, digest);
  }),
  'accept history': asking<'accept history'>(({ operator }, world) => {
    const item = operator.held().find(({ kind }) => kind === 'history');
    const id = item?.digest.slice('history-'.length);
    if (id !== undefined) answered(world, `accept history ${id}`, operator.acceptHistory(ORDER, id));
  }),
  suspend: asking<'suspend'>(({ operator }, world, { instance, forMs }) => {
    const until = forMs === null ? null : new Date(world.wall.now() + forMs).toISOString();
    const words = `suspend ${instance ?? 'everything'}${until === null ? '' : ` until ${until}`}`;
    answered(world, words, operator.suspend(ORDER, { instance, until }));
  }),
  resume: asking<'resume'>(({ operator }, world, { instance }) => {
    answered(world, `resume ${instance ?? 'everything'}`, operator.resume(ORDER, instance));
  }),
  retry: asking<'retry'>((_core, world, { instance }) => retry(world, instance)),
  adopt: asking<'adopt'>((_core, world, { instance }) => adopt(world, instance)),
  retain: asking<'retain'>((core, world, { name }) => {
    answered(world, `retain ${name}`, askToRetain(world, core, name));
  }),
  replace: asking<'replace'>((core, world, { name }) => {
    answered(world, `replace ${name}`, askToReplace(world, core, name));
  }),
  check: asking<'check'>(({ operator }, world, { instance }) => {
    answered(world, `check ${instance}`, operator.check(ORDER, { instance }));
  }),
  put: asking<'put'>((_core, world, { instance, set }) => put(world, instance, set)),
  delete: asking<'delete'>((_core, world, { instance }) => remove(world, instance)),
};

/** Does one thing. What it asks of a controller is answered later, or never. */
export function act(world: World, deed: Deed): void {
  const doing = DOING[deed.kind] as (world: World, deed: Deed) => void;
  doing(world, deed);
}

function earlierOf(world: World, from: string) {
  return function* (path: string): Generator<ModelFile> {
    for (const { files } of world.git.firstParents(from)) {
      const file = files.get(path);
      if (file !== undefined) yield file;
    }
  };
}

function commit(world: World, edits: readonly Edit[], approves?: number): void {
  const { git } = world;
  const files = edited(git.at(git.head).files, edits, earlierOf(world, git.head));
  // One that changes nothing may still bring a trailer.
  if (files === git.at(git.head).files && approves === undefined) return;
  const words = describe(git.at(git.head).files, files);
  const trailer = approves === undefined ? '' : `\n\nTreeline-Approve-Deletes: ${approves}\n`;
  const { oid: id } = git.commit(files, { words, message: `${words}${trailer}` });
  world.pushes.pushed(approves === undefined ? words : `${words} (approves ${approves})`, id);
}

function commitAside(world: World, side: string, edits: readonly Edit[]): void {
  const { git } = world;
  const from = git.sides.get(side) ?? git.head;
  const files = edited(git.at(from).files, edits, earlierOf(world, from));
  if (files === git.at(from).files) return;
  const words = describe(git.at(from).files, files);
  const { oid: id } = git.commitAside(side, files, words);
  world.tell('people', () => `commit ${id} on the side branch after ${from}: ${words}`);
}

function merge(world: World, { side, edits, isPulled = false }: Extract<Deed, { kind: 'merge' }>): void {
  const { git } = world;
  const other = git.sides.get(side);
  git.sides.delete(side);
  if (other === undefined || git.isAncestor(other, git.head)) return;
  const [base] = git.firstParents(other).filter(({ oid: one }) => git.isAncestor(one, git.head));
  const ours = git.at(git.head).files;
  const joined = merged(base?.files ?? ours, ours, git.at(other).files);
  const files = edited(joined, edits, earlierOf(world, git.head));
  const words = `merge ${other}: ${describe(ours, files)}`;
  const parents = isPulled ? [other, git.head] : [git.head, other];
  const { oid: id } = git.commit(files, { words, parents, directory: git.at(git.head).directory });
  world.pushes.pushed(words, id);
}

function rewrite(world: World, back: number, edits: readonly Edit[]): void {
  const { git } = world;
  const line = git.firstParents(git.head);
  const to = line[Math.min(back, line.length - 1)];
  if (to === undefined) return;
  git.head = to.oid;
  world.pushes.rewritten(`the branch is set back to ${to.oid}`);
  if (edits.length > 0) commit(world, edits);
}

function revert(world: World): void {
  const { git } = world;
  // A move of the layout changes none of its files, and stays.
  const [head, ...line] = git.firstParents(git.head);
  const isMoved = line.length > 0 && head?.directory !== line[0]?.directory;
  const before = line[isMoved ? 1 : 0];
  if (before === undefined || before.files === git.at(git.head).files) return;
  const words = `revert to ${before.oid}: ${describe(git.at(git.head).files, before.files)}`;
  world.pushes.pushed(words, git.commit(before.files, { words }).oid);
}

/** Returns what differs, for an operator. */
function describe(before: ModelFiles, after: ModelFiles): string {
  const paths = [...new Set([...before.keys(), ...after.keys()])].filter(
    (path) => before.get(path) !== after.get(path),
  );
  const words = paths.map((path) => `${path} ${after.get(path)?.words ?? 'removed'}`);
  return words.length === 0 ? 'nothing' : words.join('; ');
}

function vanish(world: World, name: string, at: string): void {
  const server = world.site(at).vanish(name);
  if (server === undefined) return;
  world.vanished(server);
  world.tell(at, () => `${name} vanishes`);
}

function targetOf(instance: string | null): Target {
  return instance === null ? { all: true } : { instance };
}

/**
 * Notes that the delete of each server that is held under a digest was approved. Servers of the instance whose create
 * failed go with it: they count nowhere.
 */
export function approve(world: World, digest: string): void {
  const item = world.core?.operator.held().find((one) => one.digest === digest);
  if (world.core === undefined || item === undefined) return;
  if (item.instance !== null) {
    for (const server of item.resources) world.approved.add(server);
    for (const [name, row] of world.core.ledger.list('server'))
      if (row.instance === item.instance && !isMade(row)) world.approved.add(name);
  }
  const answer = world.core.operator.approve(ORDER, digest).then((text) => {
    world.answeredApprovals.set(digest, world.wall.now());
    return text;
  });
  answered(world, `approve ${item.kind} ${item.instance ?? ''} ${item.resources.join(' ')}`, answer);
}

/** Whoever is told that nothing waits must not find something waiting. */
function retry(world: World, instance: string | null): void {
  const { core } = world;
  if (core === undefined) return;
  const isMeant = (row: ServerRow): boolean => row.due !== null && (instance === null || row.instance === instance);
  const waiting = [...core.ledger.list('server')].find(([, row]) => isMeant(row));
  noteAsked(world, instance);
  const answer = core.operator.retry(ORDER, targetOf(instance)).catch((error: unknown) => {
    const isNothing = error instanceof ServiceError && error.code === 'conflict';
    if (isNothing && waiting !== undefined && core.ledger.server(waiting[0]) === waiting[1]) {
      world.fail('retry ends every wait for a time', `${waiting[0]} is ${waiting[1].state} until ${waiting[1].due}`);
    }
    throw error;
  });
  answered(world, `retry ${instance ?? 'everything'}`, answer);
}

/** Asks to forget a server. One that is forgotten is a stranger's from then on, until somebody adopts it. */
async function askToRetain(world: World, { operator }: WiredCore, name: string): Promise<string> {
  world.asked.retaining.add(name);
  try {
    const text = await operator.retain(ORDER, name);
    world.asked.retained.add(name);
    return text;
  } finally {
    world.asked.retaining.delete(name);
  }
}

/** Asks to replace a server. The delete of it is approved, unless the request is refused. */
async function askToReplace(world: World, { operator }: WiredCore, name: string): Promise<string> {
  const added = [world.approved, world.asked.replaced].filter((names) => !names.has(name));
  for (const names of added) names.add(name);
  world.asked.note(name);
  try {
    const text = await operator.replace(ORDER, name);
    world.asked.uncounted.add(name);
    return text;
  } catch (error) {
    if (error instanceof ServiceError) for (const names of added) names.delete(name);
    throw error;
  }
}

/** People break every cycle of waits that they are shown. */
export function breakCycles(world: World): void {
  const { core } = world;
  if (core === undefined) return;
  for (const { id, action } of core.operator.attention()?.items ?? []) {
    const resource = /^treeline retry --resource (\S+) --ignore-order$/.exec(action ?? '')?.[1];
    if (!id.startsWith('cycle:') || resource === undefined) continue;
    answered(
      world,
      `retry ${resource} whatever it waits for`,
      core.operator.retry(ORDER, { resource, ignoreOrder: true }),
    );
  }
}

export function adopt(world: World, instance: string | null): void {
  const { core } = world;
  if (core === undefined) return;
  for (const [name, row] of core.ledger.list('server')) {
    if (instance === null || row.instance === instance) world.adopted.add(name);
  }
  noteAsked(world, instance);
  answered(world, `adopt ${instance ?? 'everything'}`, core.operator.adopt(ORDER, targetOf(instance)));
}

function put(world: World, instance: string, set: Partial<Shape>): void {
  const { core, git } = world;
  if (core === undefined) return;
  const now = git.at(git.head).files.get(pathOf(instance))?.shape;
  const isThere = now !== undefined;
  const shape = { ...PLAIN, prefix: instance, ...now, ...set };
  const requestId = world.pushes.request(instanceFile(shape));
  const order = { ...allowed(ADMINISTRATOR), requestId, ifMatch: undefined };
  const fields = JSON.parse(JSON.stringify(fieldsOf(shape)));
  const written = core.writer.putInstance(order, instance, fields, true).catch((error: unknown) => {
    if (isThere) watchRefusal(world, shape, error);
    throw error;
  });
  answered(
    world,
    `put ${instance}: ${instanceFile(shape).words}`,
    written.then((it) => noteWritten(world, it.commit)),
  );
}

/** Unless the template was removed, something else stands in its place, and the instance keeps the one in force. */
function watchRefusal(world: World, { template }: Shape, error: unknown): void {
  if (!(error instanceof ServiceError) || template !== PLAIN.template) return;
  if (isGone(world.git.at(world.git.head).files, TEMPLATE)) return;
  if (!error.message.includes(`there is no stack template "${template}"`)) return;
  world.fail('no write is refused because of what cannot be read', error.message);
}

function remove(world: World, instance: string): void {
  const { core } = world;
  if (core === undefined) return;
  const order = { ...allowed(ADMINISTRATOR), requestId: world.pushes.request(undefined), ifMatch: undefined };
  world.asked.deletes.add(instance);
  for (const [name, row] of core.ledger.list('server')) if (row.instance === instance) world.approved.add(name);
  // The newest commit may not be followed yet.
  const { shape } = world.git.at(world.git.head).files.get(pathOf(instance)) ?? {};
  for (const name of shape === undefined ? [] : serversOf(shape)) world.approved.add(name);
  const written = core.writer.deleteInstance(order, instance);
  answered(
    world,
    `delete ${instance}`,
    written.then((it) => noteWritten(world, it.commit)),
  );
}

function noteWritten(world: World, commit: string | null): string {
  if (commit !== null) world.git.acknowledged.add(commit);
  return `commit ${commit ?? 'none'}`;
}

function answered(world: World, words: string, answer: Promise<string>): void {
  world.tell('people', () => words);
  answer.then(
    (text) => world.tell('people', () => `${words}: ${text}`),
    (error: unknown) => {
      world.tell('people', () => `${words}: ${error instanceof Error ? error.message : String(error)}`);
      if (!(error instanceof ServiceError) && !isOfStore(error)) {
        world.fail('requests are answered or refused', `${words}: ${String(error)}`);
      }
    },
  );
}

function isOfStore(error: unknown): boolean {
  return error instanceof Error && error.name === 'StoreError';
}

function noteAsked(world: World, instance: string | null): void {
  for (const [name, row] of world.core?.ledger.list('server') ?? []) {
    if (instance === null || row.instance === instance) world.asked.note(name);
  }
}
