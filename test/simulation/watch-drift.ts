// Watches servers at rest: reported drift causes no action, healing stops after some rounds and keeps to the slots of the
// group, a server that is gone is made again only after two checks, and checks do not become too many.
import type { Answer } from '../../src/model/call-result.ts';
import type { DriftPolicy } from '../../src/model/objects.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import type { Spec } from '../../src/model/spec.ts';
import type { Call } from '../../src/providers/provider.ts';
import { siteOfRow } from './build-sites.ts';
import { validShape } from './edit-files.ts';
import type { Facts } from './facts.ts';
import type { Followed } from './followed.ts';
import { INSTANCES } from './themes/theme.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** How often a property may be healed within a day. */
const HEALS_MAX = 3;
/** How many servers of a site healing may make anew within an hour: no site here has 80 servers. */
const ANEW_MAX = 1;
/** Checks of one server at rest in an hour: every five minutes, a tenth earlier; and more for everything that happened. */
const CHECKS_MAX = 16;
const CHECKS_PER_DISTURBANCE = 4;
/** More of one whose output others wait for. */
const CHECKS_FOR_OUTPUT = 24;
/** How soon after a check was ended for another call that call begins. */
const GIVES_WAY_MS = 1_000;
/** How long a check that was due may still begin after a commit has switched checks off. */
const OFF_MS = 120_000;

interface Heal {
  readonly property: string;
  /** In time that passed for anybody: simulated time, and what clocks were set forward. */
  readonly time: number;
}

export interface DriftWatchOptions {
  /** Returns the drift policy of a provider entry. */
  readonly entryPolicy: (provider: string) => DriftPolicy;
}

export class DriftWatch {
  readonly #facts: Facts;
  readonly #followed: Followed;
  readonly #entryPolicy: DriftWatchOptions['entryPolicy'];
  /** Since the last commit or request that lets healing begin anew. */
  readonly #heals = new Map<string, Heal[]>();
  /** The site of each server that was at rest, and of which no action has begun since. */
  readonly #atRest = new Map<string, string | null>();
  /** How many checks in a row have found such a server gone. */
  readonly #absences = new Map<string, number>();
  /** When the first of these checks has told so. */
  readonly #absentSince = new Map<string, number>();
  /** By site, when a check or an update has found a server of it last. */
  readonly #sighted = new Map<string, number>();
  /** Servers that were found gone: since when, and what others of their site were known then. */
  readonly #lost = new Map<
    string,
    { readonly time: number; readonly others: ReadonlyMap<string, unknown>; readonly isMissed: boolean }
  >();
  /** Servers that healing has made again: where, and when they were found gone. */
  readonly #anew = new Map<string, { readonly site: string; readonly time: number }>();
  readonly #checks = new Map<string, number[]>();
  /** When the last check of a server at rest ended without an answer. */
  readonly #unanswered = new Map<string, number>();
  /** Checks under way that a person asked for, and whether another call has begun since: that may have ended them. */
  readonly #requested = new Map<string, boolean>();
  /** Servers whose last action began while they were at rest. */
  readonly #serving = new Set<string>();
  /** Servers whose last action began after one that had not succeeded. */
  readonly #wereDirty = new Set<string>();

  constructor(facts: Facts, followed: Followed, { entryPolicy }: DriftWatchOptions) {
    this.#facts = facts;
    this.#followed = followed;
    this.#entryPolicy = entryPolicy;
  }

  /** Looks at a row that was written. */
  noteRow(name: string, before: ServerRow | undefined, after: ServerRow | null): void {
    if (after === null) {
      this.#forget(name);
      this.#facts.goneUnasked.delete(name);
      return;
    }
    if (isAtRest(after)) this.#atRest.set(name, siteOfRow(after));
    if (before !== undefined && after.action !== null && before.action?.id !== after.action.id) {
      if (before.dirty) this.#wereDirty.add(name);
      else this.#wereDirty.delete(name);
    }
    if (after.wanted === null) this.#facts.asked.uncounted.delete(name);
    if (before === undefined || after.wanted === null) return;
    const isChanged = before.wanted !== after.wanted && JSON.stringify(before.wanted) !== JSON.stringify(after.wanted);
    // Commits that are followed at once may change it and take that back: the approval was for what it was before.
    if (isChanged || after.generation !== before.generation) this.#facts.asked.uncounted.delete(name);
    // Of many that are gone, none is made again by itself: what was to be one round of healing is none.
    if (after.reason?.code === 'many_gone' && before.state === 'pending') this.#heals.get(name)?.pop();
    if (after.observed === null && before.observed !== null) this.#noteLost(name, after, before.state === 'updating');
    if (isChanged || this.#facts.asked.explains(name)) {
      // A person's word, or a commit's: what healing did before counts no more.
      this.#heals.delete(name);
      this.#anew.delete(name);
      this.#lost.delete(name);
    } else if (isAtRest(before) && !isAtRest(after)) this.#leavesRest(name, after, isMissed(before));
  }

  /** Looks at a call that begins. `others`: what runs for other servers. */
  began(site: string, { resource, operation }: Call, others: Iterable<readonly [string, string]>): void {
    const row = this.#facts.core?.ledger.server(resource);
    const isRoutine = operation === 'check' && row !== undefined && isAtRest(row);
    if (isRoutine) this.#routine(resource, row);
    else this.#takesPlace();
    if (operation === 'check') return;
    const maker = this.#atRest.get(resource);
    if (operation === 'create' && maker === site && (this.#absences.get(resource) ?? 0) < 2) {
      this.#facts.fail('a server that one check alone finds gone is not made again', `${resource} at ${site}`);
    }
    if (operation === 'create' && maker === site) this.#watchAnew(resource, site);
    if (operation === 'create' && (maker === site || this.#lost.get(resource)?.isMissed)) {
      this.#watchAlone(resource, site);
    }
    if (operation === 'create') this.#forgetAbsence(resource);
    this.#atRest.delete(resource);
    this.#serving.delete(resource);
    if (maker === undefined || row === undefined || row.wanted === null || operation === 'create') return;
    this.#serving.add(resource);
    this.#watchSlots(resource, row, others);
  }

  /** Looks at how a check has ended. */
  checked(resource: string, answer: Answer | undefined): void {
    const row = this.#facts.core?.ledger.server(resource);
    if (answer === undefined && (row === undefined || isAtRest(row)))
      this.#unanswered.set(resource, this.#facts.scheduler.now);
    // One that gave way to another call is made up for: the request for it is not answered yet.
    if (answer !== undefined) this.#requested.delete(resource);
    else if (this.#requested.get(resource)) this.#facts.asked.checks.add(resource);
    if (answer?.outcome === 'absent') {
      this.#absences.set(resource, (this.#absences.get(resource) ?? 0) + 1);
      if (!this.#absentSince.has(resource)) this.#absentSince.set(resource, this.#facts.scheduler.now);
    } else if (answer?.outcome === 'done') {
      this.#forgetAbsence(resource);
      this.sighted(resource);
    }
  }

  /** Notes that an update did not find a server: that counts like a check. */
  missed(name: string): void {
    this.#absences.set(name, (this.#absences.get(name) ?? 0) + 1);
    if (!this.#absentSince.has(name)) this.#absentSince.set(name, this.#facts.scheduler.now);
  }

  /** Notes that a check or an update has found a server. */
  sighted(name: string): void {
    const row = this.#facts.core?.ledger.server(name);
    // Of a leader that hangs there are no rows to look at.
    const known = row === undefined ? this.#atRest.get(name) : row.applied === null ? null : siteOfRow(row);
    if (known != null) this.#sighted.set(known, this.#facts.scheduler.now);
  }

  /** The store is lost. */
  forget(): void {
    for (const name of [...this.#atRest.keys(), ...this.#heals.keys()]) this.#forget(name);
  }

  /** Returns the drift policy of a recorded server; undefined where its instance is not at the version of the last commit. */
  policyOf({ instance, provider }: ServerRow): DriftPolicy | undefined {
    const { last } = this.#followed;
    if (last === undefined || last.staying.has(instance)) return undefined;
    const shape = validShape(last.files, instance);
    if (shape === undefined || provider === null) return undefined;
    return shape.drift === '' ? this.#entryPolicy(provider) : shape.drift;
  }

  #forget(name: string): void {
    this.#heals.delete(name);
    this.#atRest.delete(name);
    this.#forgetAbsence(name);
    this.#anew.delete(name);
    this.#lost.delete(name);
  }

  /** It was found, or is made: what checks have told before says nothing any more. */
  #forgetAbsence(name: string): void {
    this.#absences.delete(name);
    this.#absentSince.delete(name);
  }

  /** The row is written a moment after the check that tells. */
  #noteLost(name: string, row: ServerRow, isMissed: boolean): void {
    const time = this.#absentSince.get(name) ?? this.#facts.scheduler.now;
    this.#lost.set(name, { time, others: this.#othersOf(name, siteOfRow(row)), isMissed });
  }

  /** What is applied of the other servers of a site. */
  #othersOf(name: string, site: string | null): ReadonlyMap<string, unknown> {
    const others = [...(this.#facts.core?.ledger.list('server') ?? [])].filter(
      ([other, row]) => other !== name && row.applied !== null && siteOfRow(row) === site,
    );
    return new Map(others.map(([other, { applied }]) => [other, applied]));
  }

  /** Where a site has others, one of them was found since: else all of it may be gone, or it answers wrongly. */
  #watchAlone(name: string, site: string): void {
    const lost = this.#lost.get(name);
    this.#lost.delete(name);
    const isHealed = this.#heals.get(name)?.some(({ property }) => property === '');
    if (lost === undefined || (!isHealed && !lost.isMissed)) return;
    const others = [...this.#othersOf(name, site)].filter(([other, applied]) => lost.others.get(other) === applied);
    if (others.length === 0 || (this.#sighted.get(site) ?? -1) >= lost.time) return;
    const words = `${name} at ${site}, where ${others.map(([other]) => other).join(', ')} may be gone too`;
    this.#facts.fail(
      'a server that is gone is made again unasked only where another one of its site was found since',
      words,
    );
  }

  /** Only few servers of a site are made again by healing within an hour: it may be the site that is wrong. */
  #watchAnew(name: string, site: string): void {
    const found = (this.#heals.get(name) ?? []).findLast(({ property }) => property === '');
    if (found === undefined) return;
    this.#anew.set(name, { site, time: found.time });
    const near = [...this.#anew].filter(([, one]) => one.site === site && Math.abs(one.time - found.time) < HOUR_MS);
    if (near.length <= ANEW_MAX) return;
    const words = `${near.map(([server]) => server).join(', ')} at ${site}`;
    this.#facts.fail('healing makes few servers of a site anew within an hour', words);
  }

  /**
   * Nobody asked for it and no commit did: only healing explains that something is done for the server, or that the update
   * of a commit did not find it.
   */
  #leavesRest(name: string, after: ServerRow, wasMissed: boolean): void {
    const policy = this.policyOf(after);
    if (after.applied === null || policy === undefined) return;
    if (policy !== 'heal' && !wasMissed) {
      this.#facts.fail(
        'no action follows from drift that is only reported',
        `${name} is ${after.state}, with ${policy}`,
      );
      return;
    }
    const { scheduler, wall } = this.#facts;
    const time = scheduler.now + wall.forwardMs;
    const heals = (this.#heals.get(name) ?? []).filter((heal) => heal.time > time - DAY_MS);
    // A pass that begins the update at once leaves nothing of what a check has observed but its reason.
    const differing = /^differs in (.+)$/.exec(after.reason?.text ?? '')?.[1]?.split(', ');
    const properties = after.observed === null ? [''] : (differing ?? ['']);
    for (const property of properties) heals.push({ property, time });
    this.#heals.set(name, heals);
    const fought = properties.find((property) => heals.filter((heal) => heal.property === property).length > HEALS_MAX);
    if (fought === undefined) return;
    const words = fought === '' ? 'its absence' : fought;
    this.#facts.fail('healing stops after three rounds within a day', `${words} of ${name}`);
  }

  /** Whether a commit had a server that takes an output of this one: who waits for that has it checked. */
  #isTaken(name: string): boolean {
    if ((this.#facts.core?.ledger.index.usersOf(name).size ?? 0) > 0) return true;
    const shapes = this.#followed.all.flatMap(({ files }) => INSTANCES.map((one) => validShape(files, one)));
    return shapes.some((shape) => shape?.takes === true && shape.db && `${shape.prefix}-db` === name);
  }

  /** Only one that a person asked for where the policy is `off`; and not too many. */
  #routine(name: string, row: ServerRow): void {
    const { scheduler, disturbances, asked } = this.#facts;
    const since = scheduler.now - HOUR_MS;
    const isOff = this.policyOf(row) === 'off' && (this.#followed.last?.since ?? 0) < scheduler.now - OFF_MS;
    if (isOff && !asked.mayCheck(name) && !this.#isTaken(name)) {
      this.#facts.fail(
        'nothing is checked where drift is off, unless asked for, or for a server that takes its output',
        name,
      );
    }
    if (asked.checks.delete(name)) this.#requested.set(name, false);
    else this.#requested.delete(name);
    const checks = (this.#checks.get(name) ?? []).filter((time) => time > since);
    checks.push(scheduler.now);
    this.#checks.set(name, checks);
    if (checks.length <= CHECKS_MAX) return;
    const disturbed = disturbances.filter((time) => time > since).length;
    const awaited = this.#isTaken(name) ? CHECKS_FOR_OUTPUT : 0;
    const max = CHECKS_MAX + awaited + CHECKS_PER_DISTURBANCE * disturbed;
    if (checks.length > max) {
      const words = `${checks.length} for ${name} within an hour; the bound is ${max}`;
      this.#facts.fail('checks of one server at rest stay below a bound', words);
    }
  }

  /** A check that was ended for the call that begins is repeated soon, and does not count; a request for it goes on. */
  #takesPlace(): void {
    for (const name of this.#requested.keys()) this.#requested.set(name, true);
    const since = this.#facts.scheduler.now - GIVES_WAY_MS;
    for (const [name, time] of this.#unanswered) {
      this.#unanswered.delete(name);
      if (time < since) continue;
      this.#checks.get(name)?.pop();
      if (this.#requested.has(name)) this.#facts.asked.checks.add(name);
      return;
    }
  }

  /** A member of a group is changed only while fewer others are than may be away. */
  #watchSlots(name: string, row: ServerRow, others: Iterable<readonly [string, string]>): void {
    const { core } = this.#facts;
    const { last } = this.#followed;
    if (core === undefined || last === undefined || last.staying.has(row.instance)) return;
    const shape = validShape(last.files, row.instance);
    if (shape === undefined || row.key !== 'web') return;
    // One that is away already makes its group no smaller.
    if (this.#wereDirty.has(name)) return;
    const away = [...others].filter(([other, operation]) => {
      const its = core.ledger.server(other);
      const isMember = its?.instance === row.instance && its.key === row.key && its.wanted !== null;
      return other !== name && isMember && operation !== 'check' && this.#serving.has(other);
    });
    if (away.length < awayMax(shape.unavailable, shape.web)) return;
    const words = `${name} begins beside ${away.map(([other]) => other).join(', ')}`;
    this.#facts.fail('no more members of a group change at once than may be away', words);
  }
}

/** Returns how many of `size` members may be away, of a number or a percentage; one may always be. */
function awayMax(unavailable: string, size: number): number {
  const share = unavailable.endsWith('%')
    ? Math.floor((Number.parseInt(unavailable, 10) * size) / 100)
    : Number(unavailable);
  return Math.max(1, share);
}

/** Returns true if a commit has changed a server or its layers, its update did not find it, and it is not known to be gone. */
function isMissed({ reason, wanted, applied }: ServerRow): boolean {
  return reason?.code === 'many_gone' && contentOf(wanted) !== contentOf(applied);
}

function contentOf(spec: Spec | null): string {
  return JSON.stringify([spec?.properties, spec?.layers]);
}

function isAtRest({ state, wanted, applied }: ServerRow): boolean {
  return (state === 'done' || state === 'drifted') && wanted !== null && applied !== null;
}
