// Builds all units of one commit, valid or not. A unit whose tracked reads are unchanged is reused.

import { reasonOf } from '../base/wording.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { checkTemplate } from '../expand/check-template.ts';
import { addressOf, splitAddress } from '../model/address.ts';
import { type Entry, isValidEntry, problemAt, type ValidEntry } from '../model/entry.ts';
import type { StackInstance, StackTemplate } from '../model/objects.ts';
import { affecting, type Problem } from '../model/problem.ts';
import { blankUnit, buildClientcert, buildInstance } from './build-unit.ts';
import type { DesiredState } from './desired-state.ts';
import { hasSameReads } from './tracked-reads.ts';
import type { Unit } from './unit.ts';

type TemplateProblems = DesiredState['templateProblems'];

/** All units of one type in a commit, and the cost of building them. */
export interface Candidates {
  readonly units: ReadonlyMap<string, Unit>;
  /** The number of units that were built instead of reused, and of the records that were merged for them. */
  readonly built: number;
  readonly recordsMerged: number;
}

/**
 * Returns every hand-written clientcert, which is one that no active instance has as a server. `owners`: the unit of
 * each server.
 */
export function buildClientcerts(
  catalog: Catalog,
  owners: ReadonlyMap<string, string>,
  earlier?: Pick<DesiredState, 'candidates'>,
): Candidates {
  const reuse = new Reuse(catalog, earlier?.candidates);
  for (const [address, entry] of catalog.objects) {
    const [type, name] = splitAddress(address);
    if (type !== 'clientcert' || owners.has(name)) continue;
    reuse.orBuild({ type, named: [name, entry] }, () => buildClientcert([name, entry], catalog));
  }
  return reuse;
}

/** Returns the problems of each template, without any instance. */
export function checkTemplates(catalog: Catalog, earlier?: Pick<DesiredState, 'templateProblems'>): TemplateProblems {
  const checked = new Map<Entry<StackTemplate>, readonly Problem[]>();
  for (const entry of catalog.templates.values()) {
    if (isValidEntry(entry)) checked.set(entry, earlier?.templateProblems.get(entry) ?? checkOne(entry));
  }
  return checked;
}

function checkOne(template: ValidEntry<StackTemplate>): readonly Problem[] {
  try {
    return checkTemplate(template);
  } catch (error) {
    return [defectAt(template, error)];
  }
}

interface Wanted {
  readonly type: Unit['type'];
  readonly named: readonly [name: string, entry: Unit['entry']];
}

/** Reuses units whose reads are unchanged, and counts the units that were built. */
class Reuse implements Candidates {
  readonly units = new Map<string, Unit>();
  readonly #catalog: Catalog;
  readonly #earlier: ReadonlyMap<string, Unit> | undefined;
  built = 0;
  recordsMerged = 0;

  constructor(catalog: Catalog, earlier: ReadonlyMap<string, Unit> | undefined) {
    this.#catalog = catalog;
    this.#earlier = earlier;
  }

  orBuild(wanted: Wanted, build: () => Unit): void {
    const key = addressOf(wanted.type, wanted.named[0]);
    const known = this.#earlier?.get(key);
    if (known !== undefined && !hasDefect(known.problems) && hasSameReads(known, this.#catalog)) {
      this.units.set(key, known);
      return;
    }
    const unit = this.#guarded(wanted, build);
    this.built += 1;
    this.recordsMerged += unit.nodes.size;
    this.units.set(key, unit);
  }

  /** A defect of Treeline invalidates only the unit that causes the exception. */
  #guarded({ type, named: [name, entry] }: Wanted, build: () => Unit): Unit {
    try {
      return build();
    } catch (error) {
      const problem = defectAt(entry, error);
      const problems = type === 'stack-instance' ? affecting([problem], name) : [problem];
      return { ...blankUnit(type, name, { entry, catalog: this.#catalog }), problems };
    }
  }
}

/** Builds the instances of `catalog`, one by one. `earlier` only saves work: the result is the same without it. */
export class InstanceBuilder extends Reuse {
  readonly #build: (named: NamedInstance) => Unit;

  constructor(catalog: Catalog, templateProblems: TemplateProblems, earlier?: Pick<DesiredState, 'candidates'>) {
    super(catalog, earlier?.candidates);
    const check = (template: Entry<StackTemplate>): readonly Problem[] => templateProblems.get(template) ?? [];
    this.#build = (named) => buildInstance(named, catalog, check);
  }

  add(named: NamedInstance): void {
    this.orBuild({ type: 'stack-instance', named }, () => this.#build(named));
  }
}

type NamedInstance = readonly [name: string, entry: Entry<StackInstance>];

/** Returns true if Treeline failed: the dependencies of that failure are unknown, so each commit tries again. */
function hasDefect(problems: readonly Problem[]): boolean {
  return problems.some(({ code }) => code === 'internal_error');
}

/** Returns the problem for an exception thrown while an object was processed. */
function defectAt(entry: Entry<unknown>, error: unknown): Problem {
  const { path, oid, object, problems } = entry;
  const text = reasonOf(error);
  // The entry's own `locate` may be the function that failed.
  const place = { path, oid, object, problems, locate: () => ({ line: 1, column: 1 }) };
  return problemAt(place, '', {
    code: 'internal_error',
    message: `Treeline failed on this file: ${text}`,
    hint: 'this is a defect of Treeline: report it with this text and the file; everything else continues',
  });
}
