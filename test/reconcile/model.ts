// Reconciling without its loop: rows in a map, a provider that answers what it is told to, and a world outside that
// remembers what really happened. It watches the promises that must hold at every moment; the end is the test's to judge.

import { invariant } from '../../src/base/invariant.ts';
import { conclude } from '../../src/machine/conclude.ts';
import { decide } from '../../src/machine/decide.ts';
import type { Step } from '../../src/machine/decision.ts';
import { adoptedRow, replacedRow, replaceRefusal, retriedRow } from '../../src/machine/requests.ts';
import { awayMax, groupOf } from '../../src/machine/rollout.ts';
import { firstRow, unwantRow, wantRow } from '../../src/machine/want.ts';
import type { Answer } from '../../src/model/call-result.ts';
import { isSame } from '../../src/model/json.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import type { Spec, WantedServer } from '../../src/model/spec.ts';
import type { Operation } from '../../src/model/state.ts';
import { createProviderRegistry } from '../../src/providers/provider-registry.ts';
import { FreshChecks } from '../../src/reconcile/checks/fresh-checks.ts';
import { decisionContextOf } from '../../src/reconcile/passes/decision-context.ts';
import { RowIndex } from '../../src/reconcile/row-index.ts';
import { answerOf, NOW } from './build.ts';

/**
 * How a call ends. `lost`: nobody hears of it; `before` and `after` tell whether it had its effect by then. `odd`: a
 * change has its effect and is answered as retryable; a check tells no more than that the server is there.
 */
export type Ending = 'good' | 'retryable' | 'failed' | 'odd' | 'lost before' | 'lost after' | 'replace' | 'vanished';

interface LiveCall {
  readonly kind: 'check' | 'action';
  readonly operation: Operation;
  readonly row: ServerRow;
}

const RETRY = { attempts: 3, firstSeconds: 2, maxSeconds: 8, failedSeconds: 60 };
const REGISTRY = createProviderRegistry(
  [
    {
      ...{ name: 'lab', match: { kind: null, properties: {} }, implementation: 'simulated', retry: RETRY },
      options: { file: '', createMs: 0, updateMs: 0, deleteMs: 0, checkMs: 0, failRate: 0, seed: 1 },
      ...{ timeoutSeconds: 60, checkSeconds: 300, drift: 'report', concurrency: 2 },
    },
  ],
  () => ({
    lostActionEnds: 'with the controller',
    perform: async () => answerOf('done'),
    close: async () => undefined,
  }),
);
const CALLS_MAX = 2;
const NO_LUCK = answerOf('retryable', { message: 'no luck' });

/** Who is asked: there is one provider entry. */
const CHECKER = { provider: 'lab', tags: [] };

const ENTRIES = { has: () => true, isMatched: () => true };
const ASKED: Readonly<Record<'retry' | 'adopt' | 'replace', (row: ServerRow, now: string) => ServerRow | undefined>> = {
  retry: retriedRow,
  adopt: (row, now) => adoptedRow(row, now, ENTRIES),
  replace: (row, now) => (replaceRefusal(row, ENTRIES) === undefined ? replacedRow(row, now) : undefined),
};

export class Model {
  readonly rows = new Map<string, ServerRow>();
  /** What exists, by server. */
  readonly reality = new Map<string, Spec>();
  readonly inFlight = new Map<string, LiveCall>();
  readonly #index = new RowIndex();
  readonly #checks = new FreshChecks({ now: () => this.#now, monotonic: () => this.#now });
  /** Members that went away for a change and are not back. */
  readonly #away = new Set<string>();
  /** The last create of each server that may have had an effect, since it was last known to be absent. */
  readonly #created = new Map<string, string>();
  /** Creates of servers that were deleted since: nobody may mistake a later one for them. */
  readonly #spent = new Set<string>();
  /** What somebody else has built and nobody has adopted. */
  readonly #strangers = new Set<string>();
  /** Servers that a person asked to adopt: what no check saw of them may be otherwise than recorded. */
  readonly asked = new Set<string>();
  #now = NOW;

  /** A commit that wants exactly these servers. Returns how many rows it changed. */
  commit(wanted: ReadonlyMap<string, WantedServer>): number {
    let changed = 0;
    this.#now += 1;
    const stamp = { commit: 'c', time: new Date(this.#now).toISOString(), now: this.#now };
    for (const name of new Set([...wanted.keys(), ...this.rows.keys()])) {
      const row = this.rows.get(name);
      const server = wanted.get(name);
      if (row === undefined && server !== undefined) this.#write(name, firstRow(server, stamp));
      else if (row !== undefined)
        this.#write(name, server ? wantRow(row, server, stamp) : unwantRow(row, { ...stamp, lastRecord: {} }));
      if (this.rows.get(name) !== row) changed += 1;
    }
    this.settle();
    return changed;
  }

  /** Ends the call of a server, if there is one. */
  end(name: string, ending: Ending): void {
    const call = this.inFlight.get(name);
    if (call === undefined) return;
    this.#setInFlight(name, undefined);
    this.#now += 1;
    const answer = this.#answer(name, call, ending);
    const isTold = answer?.outcome === 'done' || answer?.outcome === 'absent';
    if (call.kind === 'check') this.#checks.record(name, isTold ? 'answered' : 'failed', CHECKER);
    if (answer === undefined) this.#pass(name);
    else this.#pass(name, { kind: call.kind, provider: 'lab', answer });
    this.settle();
  }

  /** The controller is killed: some of its calls had their effect by then. */
  crash(effects: (name: string) => boolean): void {
    for (const [name, call] of [...this.inFlight]) {
      this.#setInFlight(name, undefined);
      if (call.kind === 'action') this.#answer(name, call, effects(name) ? 'lost after' : 'lost before');
    }
    this.settle();
  }

  wait(seconds: number): void {
    this.#now += seconds * 1000;
    this.settle();
  }

  /** A person asks for another try of a server, to take over what is there, or to build it anew. */
  ask(what: 'retry' | 'adopt' | 'replace', name: string): void {
    const row = this.rows.get(name);
    const asked = row === undefined ? undefined : ASKED[what](row, new Date(this.#now).toISOString());
    if (asked !== undefined) this.#write(name, asked);
    if (asked !== undefined && what === 'adopt') this.asked.add(name);
    this.settle();
  }

  /** Somebody else builds a server of that name, where there is none and nobody has just looked. */
  intrude(name: string, spec: Spec): void {
    const row = this.rows.get(name);
    const mayBeOurs = row !== undefined && (row.applied !== null || row.mayExist || row.action !== null);
    const isChecked = this.#checks.of(name, CHECKER) !== undefined;
    if (this.reality.has(name) || this.inFlight.has(name) || mayBeOurs || isChecked) return;
    this.reality.set(name, spec);
    this.#strangers.add(name);
  }

  /** Whoever has built a server that nobody has adopted takes it away again. */
  takeBack(): void {
    for (const name of this.#strangers) this.reality.delete(name);
    this.#strangers.clear();
  }

  /** Looks at every server until no look changes anything. */
  settle(): void {
    for (let round = 0; round < 100; round += 1) {
      const changes = [...this.rows.keys()].filter((name) => this.#pass(name));
      if (changes.length === 0) return;
    }
    throw new Error('looking at the servers never ends');
  }

  /** Returns true where the row changed, or a call began. */
  #pass(name: string, ended?: Parameters<typeof conclude>[1]): boolean {
    const row = this.rows.get(name);
    if (row === undefined) return false;
    const context = { now: this.#now, retry: RETRY, random: () => 0.5 };
    const concluded = ended === undefined ? row : conclude(row, ended, context);
    // Nobody may know how far its create came: then it is made sure of before it serves.
    if (concluded?.dirty && concluded.applied !== null) this.#away.add(name);
    const { row: after, next } = this.#decide(name, concluded);
    this.#write(name, after);
    const isCall = next.kind === 'check' || next.kind === 'run';
    if (after !== null && isCall) this.#begin(name, after, next.kind === 'run' ? 'action' : 'check');
    return after !== row || isCall;
  }

  #decide(name: string, row: ServerRow | null): Step {
    if (row === null) return { row: null, next: { kind: 'rest' } };
    const ledger = {
      server: (server: string) => this.rows.get(server),
      index: this.#index,
      read: () => undefined,
      list: () => new Map(),
    };
    return decide(
      row,
      decisionContextOf(name, {
        ...{
          ledger,
          registry: REGISTRY,
          now: this.#now,
          waitMsMax: 3_600_000,
          removalsMax: () => Number.POSITIVE_INFINITY,
        },
        isInFlight: (server) => this.inFlight.has(server),
        hasCapacity: () => this.inFlight.size < CALLS_MAX,
        lastCheckOf: (server) => this.#checks.of(server, CHECKER),
        isCheckDue: () => false,
        lostMsLeft: () => 0,
        lostBecause: () => undefined,
        claimantOf: () => undefined,
        isFoundSince: () => true,
      }),
    );
  }

  #write(name: string, row: ServerRow | null): void {
    this.#index.follow(name, this.rows.get(name), row ?? undefined);
    if (row === null) this.rows.delete(name);
    else this.rows.set(name, row);
    if (row === null || isBack(row)) this.#away.delete(name);
    if (row !== null && row.applied !== null) this.#adopt(name);
  }

  /** A stranger's server becomes Treeline's own where a person said so. */
  #adopt(name: string): void {
    if (!this.#strangers.delete(name)) return;
    invariant(this.asked.has(name), `${name} is somebody else's, and nobody said that it may be taken over`);
  }

  #begin(name: string, row: ServerRow, kind: LiveCall['kind']): void {
    const operation = kind === 'check' ? 'check' : (row.action?.operation ?? 'check');
    this.#setInFlight(name, { kind, operation, row });
    if (kind === 'action') this.#checks.forget(name);
    if (operation === 'create') this.#watchCreate(name, row);
    if (operation === 'delete') this.#spend(name);
    if (operation === 'delete' && row.wanted === null) this.#watchDelete(name);
    invariant(operation !== 'delete' || !this.#strangers.has(name), `${name} is somebody else's, and is deleted`);
    if (row.applied !== null && operation !== 'check') this.#watchGroup(name, row);
  }

  #setInFlight(name: string, call: LiveCall | undefined): void {
    if (call === undefined) this.inFlight.delete(name);
    else this.inFlight.set(name, call);
    this.#index.setInFlight(name, call !== undefined);
  }

  #watchCreate(name: string, { wanted, action }: ServerRow): void {
    const created = this.#created.get(name);
    invariant(created === undefined || created === action?.id, `${name} is created twice`);
    invariant(!this.#spent.has(`${name} ${action?.id}`), `${name} is created under the id of one that is gone`);
    for (const dependency of wanted?.dependsOn ?? []) {
      invariant(this.reality.has(dependency), `${name} is created before ${dependency}, on which it depends`);
    }
  }

  #watchDelete(name: string): void {
    for (const [other, { applied, action }] of this.rows) {
      const needs = [applied, action?.spec].some((spec) => spec?.dependsOn.includes(name));
      const isThere = this.reality.has(other) || this.inFlight.get(other)?.operation === 'create';
      invariant(other === name || !needs || !isThere, `${name} is deleted before ${other}, which depends on it`);
    }
  }

  /** Who is away already, after a try that did not succeed, may go on; nobody else may join when enough are away. */
  #watchGroup(name: string, row: ServerRow): void {
    const members = [...this.rows].filter(([, other]) => groupOf(other) === groupOf(row));
    const away = members.filter(([member, { wanted }]) => this.#away.has(member) && wanted !== null);
    const isNew = row.wanted !== null && !this.#away.has(name);
    invariant(
      !isNew || away.length < awayMax(row.policy.maxUnavailable, members.length),
      `${name} goes away although ${away.map(([member]) => member)} are away already`,
    );
    this.#away.add(name);
  }

  /** What really happens, and what the provider says about it; undefined where nobody hears the answer. */
  #answer(name: string, { operation, row }: LiveCall, ending: Ending): Answer | undefined {
    if (ending === 'retryable' || ending === 'failed') return { ...NO_LUCK, outcome: ending };
    if (operation === 'check') return ending === 'good' || ending === 'odd' ? this.#check(name, ending) : NO_LUCK;
    if (ending === 'lost before') return undefined;
    if (operation === 'update' && ending === 'replace') return answerOf('replace');
    if (operation === 'update' && ending === 'vanished') this.#remove(name);
    else if (operation === 'delete') this.#remove(name);
    else this.#make(name, row, operation);
    if (ending === 'odd') return NO_LUCK;
    return ending === 'lost after' ? undefined : this.#outcomeOf(name, operation);
  }

  #outcomeOf(name: string, operation: Operation): Answer {
    return operation === 'delete' ? answerOf('absent') : this.#check(name, 'good');
  }

  #check(name: string, ending: 'good' | 'odd'): Answer {
    const spec = this.reality.get(name);
    if (spec === undefined) return answerOf('absent');
    return answerOf('done', { observed: ending === 'odd' ? {} : { ...spec.properties } });
  }

  #make(name: string, { action }: ServerRow, operation: Operation): void {
    const spec = action?.spec;
    if (spec == null) return;
    // A create that finds the server leaves it as it is, and shows it.
    if (operation === 'create') this.#created.set(name, action?.id ?? '');
    if ((operation === 'create') !== this.reality.has(name)) this.reality.set(name, spec);
  }

  #remove(name: string): void {
    this.reality.delete(name);
    this.#spend(name);
  }

  /** From the start of a delete on, what is created is another server. */
  #spend(name: string): void {
    this.#spent.add(`${name} ${this.#created.get(name)}`);
    this.#created.delete(name);
  }
}

/** It is as some spec says, or it is gone and was given up: then it is a newcomer when it is wanted again. */
function isBack({ applied, dirty, wanted }: ServerRow): boolean {
  return applied === null ? wanted === null : !dirty;
}

/** Returns what is still to be done before everything is as wanted; empty where nothing is. */
export function shortcomings(model: Model, wanted: ReadonlyMap<string, WantedServer>): string[] {
  const found: string[] = [];
  for (const [name, { spec }] of wanted) {
    const row = model.rows.get(name);
    // What was adopted and differs rests until a commit changes it.
    if (row?.state === 'drifted') continue;
    if (row?.state !== 'done') found.push(`${name} is ${row?.state}: ${row?.reason}`);
    if (!isSame({ ...row?.applied }, { ...spec })) found.push(`${name} is not applied as wanted`);
    const isMade = !model.asked.has(name);
    if (isMade && !isSame(model.reality.get(name)?.properties, spec.properties)) found.push(`${name} is not as wanted`);
  }
  for (const name of new Set([...model.rows.keys(), ...model.reality.keys()])) {
    if (!wanted.has(name)) found.push(`${name} is still there`);
  }
  return found;
}
