// Shows a client the part of the desired state and the rows that it sees. What it does not see is not there, so that every answer that is
// made of this part is that of an estate without the rest: lists, counts, errors and suggestions alike. docs/decisions/0053.
import { keepNewest } from '../base/lists.ts';
import type { Steps } from '../base/steps.ts';
import type { DesiredState, RefusedCommit } from '../desired/desired-state.ts';
import { problemsAndRemarks } from '../desired/remarks.ts';
import type { Unit } from '../desired/unit.ts';
import type { HieraNode } from '../hiera/node.ts';
import { EVERY_INSTANCE } from '../machine/suspension.ts';
import { addressOf, splitAddress } from '../model/address.ts';
import type { EventPage, EventRange, ListedEvent, ListedPage, ListedRange } from '../model/instance-event.ts';
import { emptyMap } from '../model/json.ts';
import { type Scope, scopeOf } from '../model/least-rights.ts';
import type { Client, TreeNode } from '../model/objects.ts';
import { serversOf } from '../model/outputs.ts';
import type { Problem } from '../model/problem.ts';
import type { HeldRow, RowKind, Rows } from '../model/rows.ts';
import type { OutputPiece, OutputTexts, Spec } from '../model/spec.ts';
import { ClientView } from './client-view.ts';
import { instanceNames } from './read/instance-views.ts';
import type { PresentRows, ViewSources } from './views.ts';

/** So many pages of events are looked through for the events of one page, and so many events are in each: no store keeps more. */
const PAGES_MAX = 50;
const PAGE_EVENTS = 2_000;

interface Shown {
  readonly whole: DesiredState;
  readonly version: number;
  readonly desired: DesiredState;
}

/** The part of everything that a client sees. */
export interface SeenPart {
  readonly view: ClientView;
  /** What answers are made of. */
  readonly sources: ViewSources;
  /** The same for records: a client of a node sees that of one server, and nothing else of it. */
  readonly records: ViewSources;
}

function seenPart(whole: ViewSources, scope: Scope): SeenPart {
  const view = new ClientView(whole, scope);
  const { sources } = new Projection(whole, view, (server) => view.seesServer(server));
  if (scope.node === undefined) return { view, sources, records: sources };
  return { view, sources, records: new Projection(whole, view, (server) => view.seesNode(server)).sources };
}

/** So many different parts are remembered for one process. */
const PARTS_MAX = 500;
const known = new WeakMap<ViewSources['desired'], Map<string, SeenPart>>();

/** Returns the part of these sources that a client sees; undefined: it sees everything. */
export function seenBy(whole: ViewSources, by: Client): SeenPart | undefined {
  const scope = scopeOf(by);
  if (scope === undefined) return undefined;
  const parts = known.get(whole.desired) ?? new Map<string, SeenPart>();
  known.set(whole.desired, parts);
  const part = parts.get(scope.key) ?? seenPart(whole, scope);
  keepNewest(parts, [scope.key, part], PARTS_MAX);
  return part;
}

const NO_ROWS: PresentRows = {
  version: 0,
  list: () => new Map(),
  read: () => undefined,
  server: () => undefined,
  events: async () => ({ events: [], isGap: false }),
  listEvents: async () => ({ events: [], isGap: false, newest: 0 }),
  index: {
    serversOf: () => [],
    needingPerson: () => new Map(),
    failedUpdatesOf: () => new Set(),
    queuedHeals: () => new Map(),
    serversOfEntries: () => new Map(),
    serversOfProxies: () => new Map(),
  },
};

/** Returns the part that a client sees of a desired state that is not active, with these rows; undefined: it sees everything. */
export function partOfState(desired: DesiredState, by: Client, rows = NO_ROWS): SeenPart | undefined {
  const scope = scopeOf(by);
  const state = { desired: () => desired, refused: () => undefined, notReadyReason: () => '', now: () => 0 };
  return scope && seenPart({ ...state, rows }, scope);
}

/** Whose first argument tells who asks. */
type Asked<Part> = { readonly [Name in keyof Part]: (...args: never[]) => unknown };

/**
 * Returns a part that answers each client by what it sees. `make` makes what answers from these sources: those of everything, or `seen`.
 * The first argument of each method is a client or an order; where it is neither, everything is seen.
 */
export function answerEach<Part extends Asked<Part>>(
  whole: ViewSources,
  make: (seen: SeenPart | undefined) => Part,
): Part {
  const answers = make(undefined);
  const narrow = new WeakMap<SeenPart, Part>();
  const answerAs = (name: keyof Part, args: readonly unknown[]): unknown => {
    const by = clientIn(args[0]);
    const seen = by && seenBy(whole, by);
    const part = seen === undefined ? answers : (narrow.get(seen) ?? make(seen));
    if (seen !== undefined) narrow.set(seen, part);
    const answer = part[name](...(args as never[]));
    return seen === undefined ? answer : redacted(answer, seen);
  };
  const names = Object.keys(answers) as (keyof Part)[];
  return Object.fromEntries(
    names.map((name) => [name, (...args: unknown[]) => answerAs(name, args)]),
  ) as unknown as Part;
}

function clientIn(asking: unknown): Client | undefined {
  if (typeof asking !== 'object' || asking === null) return undefined;
  if ('by' in asking) return asking.by as Client;
  return 'role' in asking ? (asking as Client) : undefined;
}

/** Fields that hold texts for people. */
const TEXTS: ReadonlySet<string> = new Set(['reason', 'summary', 'action', 'message', 'hint']);

function redacted(answer: unknown, seen: SeenPart): unknown {
  if (answer instanceof Promise) return answer.then((value) => redacted(value, seen));
  if (Array.isArray(answer)) return answer.map((item) => redacted(item, seen));
  if (typeof answer !== 'object' || answer === null) return answer;
  if (Symbol.iterator in answer && 'next' in answer) return redactedSteps(answer as unknown as Steps<unknown>, seen);
  const shown = emptyMap<unknown>();
  for (const [key, value] of Object.entries(answer)) {
    shown[key] = typeof value === 'string' && TEXTS.has(key) ? seen.view.redact(value) : redacted(value, seen);
  }
  return shown;
}

function* redactedSteps(steps: Steps<unknown>, seen: SeenPart): Steps<unknown> {
  return redacted(yield* steps, seen);
}

/** Returns a spec without the names of servers that are not seen. */
export function seenSpec(spec: Spec, sees: (server: string) => boolean): Spec {
  const { reads, dependsOn, lists } = spec;
  const seen = { ...spec, dependsOn: dependsOn.filter(sees), lists: lists.filter(sees) };
  return reads === undefined ? seen : { ...seen, reads: seenReads(reads, sees) };
}

function seenReads(reads: OutputTexts, sees: (server: string) => boolean): OutputTexts {
  const seen = (piece: OutputPiece): OutputPiece =>
    typeof piece === 'string' ? piece : { ...piece, of: serversOf(piece).filter(sees) };
  const texts = Object.entries(reads).map(([key, text]) => {
    return [key, { ...text, texts: text.texts.map((pieces) => pieces.map(seen)) }] as const;
  });
  return Object.fromEntries(texts);
}

/** Makes the part of everything that a client sees. */
class Projection {
  readonly #whole: ViewSources;
  readonly #view: ClientView;
  readonly #sees: (server: string) => boolean;
  readonly #units = new WeakMap<Unit, { readonly version: number; readonly unit: Unit }>();
  #shown: Shown | undefined;
  readonly sources: ViewSources;

  /** `sees`: the servers that are there. */
  constructor(whole: ViewSources, view: ClientView, sees: (server: string) => boolean) {
    this.#whole = whole;
    this.#view = view;
    this.#sees = sees;
    const refused = (): RefusedCommit | undefined => {
      const newest = whole.refused();
      return newest && { ...newest, reason: view.redact(newest.reason), problems: this.#seenProblems(newest.problems) };
    };
    const { notReadyReason, now } = whole;
    this.sources = { desired: () => this.#desired(), rows: this.#seenRows(), refused, notReadyReason, now };
  }

  #desired(): DesiredState | undefined {
    const whole = this.#whole.desired();
    if (whole === undefined) return undefined;
    const { version } = this.#whole.rows;
    if (this.#shown?.whole !== whole || this.#shown.version !== version) {
      this.#shown = { whole, version, desired: this.#seenState(whole) };
    }
    return this.#shown.desired;
  }

  #seenState(whole: DesiredState): DesiredState {
    const sees = (address: string): boolean => this.#seesUnit(address);
    const { catalog } = whole;
    const tree = this.#seenTree(catalog.tree.object);
    const seenObject = (address: string): boolean => this.#view.sees(address);
    const seenClient = (serial: string): boolean => this.#view.seesClient(serial);
    const state = {
      ...whole,
      units: new SeenMap(whole.units, sees, (unit) => this.#seenUnit(unit)),
      candidates: new SeenMap(whole.candidates, sees, (unit) => this.#seenUnit(unit)),
      owners: new SeenMap(whole.owners, this.#sees),
      objects: new SeenMap(whole.objects, seenObject),
      clients: new SeenMap(whole.clients, seenClient),
      invalid: new Set([...whole.invalid].filter((name) => this.#view.seesInstance(name))),
      held: new Map(),
      templateProblems: new Map(),
      catalog: {
        ...catalog,
        tree: tree === catalog.tree.object ? catalog.tree : { ...catalog.tree, object: tree, oid: '' },
        templates: new SeenMap(catalog.templates, (name) => this.#view.sees(addressOf('stack-template', name))),
        instances: new SeenMap(catalog.instances, (name) => this.#view.seesInstance(name)),
        clients: new SeenMap(catalog.clients, seenClient),
        objects: new SeenMap(catalog.objects, seenObject),
      },
    };
    let problems: readonly Problem[] | undefined;
    return Object.defineProperty(state, 'problems', {
      enumerable: true,
      get: () => (problems ??= this.#seenProblems(problemsAndRemarks(whole))),
    });
  }

  #seesUnit(address: string): boolean {
    const [type, name] = splitAddress(address);
    if (type !== 'stack-instance') return this.#sees(name);
    if (this.#view.seesInstance(name)) return true;
    return (
      this.#view.node !== undefined &&
      this.#whole.desired()?.owners.get(this.#view.node) === address &&
      this.#sees(this.#view.node)
    );
  }

  /** Returns a unit with the servers that are seen. Of one with others too the document could tell of these: it is left empty. */
  #seenUnit(unit: Unit): Unit {
    const { version } = this.#whole.rows;
    const known = this.#units.get(unit);
    if (known?.version === version) return known.unit;
    const servers = new Map([...unit.servers].filter(([name]) => this.#sees(name)));
    const nodes = new Map(
      [...unit.nodes].flatMap(([name, node]) => (this.#sees(name) ? [[name, this.#seenNode(node)]] : [])),
    );
    const isWhole =
      servers.size === unit.servers.size && nodes.size === unit.nodes.size && this.#view.seesAllOf(unit.name);
    const seen =
      isWhole || unit.type === 'clientcert' ? unit : { ...unit, servers, nodes, ...this.#emptied(unit, servers) };
    this.#units.set(unit, { version, unit: seen });
    return seen;
  }

  /** Whose output gives a value is told of servers that are seen. */
  #seenNode(node: HieraNode): HieraNode {
    const [first, ...others] = node.own;
    if (first?.reads === undefined) return node;
    return { ...node, own: [{ ...first, reads: seenReads(first.reads, this.#sees) }, ...others] };
  }

  #emptied(unit: Unit, servers: Unit['servers']): Pick<Unit, 'keys' | 'entry'> {
    const keys = [...new Set([...servers.values()].map(({ key }) => key))];
    const { object } = unit.entry;
    if (this.#view.isOfAllSites || object === null || !('stackTemplate' in object)) return { keys, entry: unit.entry };
    const nothing = { description: '', parameters: {}, stackTemplateAdditions: {}, stackTemplateSubstractions: {} };
    return { keys, entry: { ...unit.entry, oid: '', object: { ...object, ...nothing } } as Unit['entry'] };
  }

  #seenTree(tree: TreeNode | null): TreeNode | null {
    if (tree === null || this.#view.node !== undefined) return null;
    if (this.#view.isOfAllSites) return tree;
    const drawn = this.#view.drawnAddresses();
    const seen = (node: TreeNode): TreeNode[] => {
      const children = (node.children ?? []).flatMap(seen);
      if (children.length === 0 && !drawn.has(`${node.type}/${node.name}`)) return [];
      const { children: _, ...own } = node;
      return [{ ...own, ...(children.length === 0 ? {} : { children }) }];
    };
    return {
      name: tree.name,
      type: tree.type,
      description: tree.description,
      children: (tree.children ?? []).flatMap(seen),
    };
  }

  #seenProblems(problems: readonly Problem[]): readonly Problem[] {
    const files = this.#whole.desired()?.catalog.files;
    return problems.flatMap((problem) => {
      const file = files?.get(problem.file);
      if (file?.type == null || !this.#view.seesFile(file.type, file.name)) return [];
      const instances = problem.instances?.filter((name) => this.#view.seesInstance(name));
      const message = this.#view.redact(problem.message);
      const hint = problem.hint === null ? null : this.#view.redact(problem.hint);
      return [{ ...problem, message, hint, ...(instances === undefined ? {} : { instances }) }];
    });
  }

  #seenRows(): PresentRows {
    const whole = this.#whole.rows;
    const list = <Kind extends RowKind>(kind: Kind): ReadonlyMap<string, Rows[Kind]> => {
      return new SeenMap(
        whole.list(kind),
        (name) => this.#seesRow(kind, name),
        (row) => this.#seenRow(kind, row),
      );
    };
    return {
      get version() {
        return whole.version;
      },
      list,
      read: (kind, name) => list(kind).get(name),
      server: (name) => (this.#sees(name) ? whole.server(name) : undefined),
      events: (instance, range) => this.#seenEvents(instance, range),
      listEvents: (range) => this.#listSeenEvents(range),
      index: {
        serversOf: (instance) => whole.index.serversOf(instance).filter(this.#sees),
        needingPerson: () => {
          const all = [...whole.index.needingPerson()].map(
            ([cause, names]) => [cause, names.filter(this.#sees)] as const,
          );
          return new Map(all.filter(([, names]) => names.length > 0));
        },
        // These tell of the estate as a whole.
        failedUpdatesOf: () => new Set(),
        queuedHeals: () => new Map(),
        serversOfEntries: () => new Map(),
        serversOfProxies: () => new Map(),
      },
    };
  }

  #seesRow(kind: RowKind, name: string): boolean {
    switch (kind) {
      case 'server':
      case 'node':
      case 'delivery':
        return this.#sees(name);
      case 'held':
      case 'terminating':
      case 'acknowledgement':
        return this.#view.seesInstance(name);
      case 'suspension':
        return name === EVERY_INSTANCE || this.#view.seesInstance(name);
      default:
        return kind === 'head' || kind === 'approval' || kind === 'seen';
    }
  }

  /** The reason of a hold counts all servers. */
  #seenRow<Kind extends RowKind>(kind: Kind, row: Rows[Kind]): Rows[Kind] {
    if (kind !== 'held') return row;
    const held = row as HeldRow;
    const servers = held.servers.filter(this.#sees);
    return {
      ...held,
      servers,
      reason: 'it would delete or replace servers, and waits for an approval',
    } as unknown as Rows[Kind];
  }

  async #seenEvents(instance: string, range: EventRange): Promise<EventPage> {
    const { events, isGap } = await this.#listSeenEvents({ ...range, instances: new Set([instance]) });
    return { events: events.map(({ event }) => event), isGap };
  }

  /** Instances that are gone are not known any more, and nor is whose they were. */
  async #listSeenEvents({ after, limit, instances }: ListedRange): Promise<ListedPage> {
    const seen =
      instances === undefined ? this.#eventfulInstances() : [...instances].filter((name) => this.#view.tellsOf(name));
    const found: ListedEvent[] = [];
    // Few of what is recorded may be seen: a client that asks for one at a time is told of that one all the same.
    const most = limit === 0 ? 0 : Math.max(limit, PAGE_EVENTS);
    let [from, isGap] = [after, false];
    for (let pages = 0; ; pages += 1) {
      const page = await this.#whole.rows.listEvents({ after: from, limit: most, instances: new Set(seen) });
      if (pages === 0) isGap = page.isGap;
      found.push(...page.events.filter((listed) => this.#view.seesEvent(listed)));
      const last = page.events.at(-1)?.event.id;
      const isOver = last === undefined || page.events.length < most || found.length >= limit || pages >= PAGES_MAX;
      if (isOver) return { events: found.slice(0, limit), isGap, newest: page.newest };
      from = last;
    }
  }

  #eventfulInstances(): readonly string[] {
    const desired = this.#whole.desired();
    if (desired === undefined) return [];
    const names = [...instanceNames({ desired, rows: this.#whole.rows, now: 0 }), EVERY_INSTANCE];
    return names.filter((name) => this.#view.tellsOf(name));
  }
}

/** The entries of a map that are seen, judged whenever it is read. */
class SeenMap<Value> implements ReadonlyMap<string, Value> {
  readonly #whole: ReadonlyMap<string, Value>;
  readonly #sees: (key: string) => boolean;
  readonly #shown: (value: Value) => Value;

  constructor(
    whole: ReadonlyMap<string, Value>,
    sees: (key: string) => boolean,
    shown: (value: Value) => Value = (value) => value,
  ) {
    this.#whole = whole;
    this.#sees = sees;
    this.#shown = shown;
  }

  get size(): number {
    return [...this.keys()].length;
  }

  has(key: string): boolean {
    return this.#whole.has(key) && this.#sees(key);
  }

  get(key: string): Value | undefined {
    const value = this.#whole.get(key);
    return value !== undefined && this.#sees(key) ? this.#shown(value) : undefined;
  }

  *entries(): MapIterator<[string, Value]> {
    for (const [key, value] of this.#whole) if (this.#sees(key)) yield [key, this.#shown(value)];
  }

  *keys(): MapIterator<string> {
    for (const [key] of this.entries()) yield key;
  }

  *values(): MapIterator<Value> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): MapIterator<[string, Value]> {
    return this.entries();
  }

  forEach(visit: (value: Value, key: string, map: ReadonlyMap<string, Value>) => void): void {
    for (const [key, value] of this.entries()) visit(value, key, this);
  }
}
