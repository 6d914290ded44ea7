// All units of one commit, right or wrong. Those that draw on nothing that changed are taken over as they were.
import type { Catalog } from '../catalog/catalog.ts';
import { checkTemplate } from '../expand/check-template.ts';
import { type Entry, isRight } from '../model/entry.ts';
import type { StackTemplate } from '../model/objects.ts';
import type { Problem } from '../model/problem.ts';
import { buildClientcert, buildInstance } from './build-unit.ts';
import { drawsTheSame } from './draw.ts';
import type { Estate } from './estate.ts';
import { isSound, type Unit, unitKey } from './unit.ts';

type TemplateProblems = Estate['templateProblems'];

export interface Candidates {
  readonly units: ReadonlyMap<string, Unit>;
  readonly templateProblems: TemplateProblems;
  readonly instancesExpanded: number;
  readonly recordsMerged: number;
}

/** What of the commit before may be taken over. */
export type Earlier = Pick<Estate, 'candidates' | 'templateProblems'>;

/** Returns every unit as `catalog` has it. `earlier` only saves work: the answer is the same without it. */
export function buildCandidates(catalog: Catalog, earlier?: Earlier): Candidates {
  const templateProblems = checkTemplates(catalog, earlier?.templateProblems);
  const check = (template: Entry<StackTemplate>): readonly Problem[] => templateProblems.get(template) ?? [];
  const reuse = new Reuse(catalog, earlier?.candidates);
  const units = new Map<string, Unit>();
  for (const named of catalog.instances) {
    units.set(...reuse.orBuild(`instance/${named[0]}`, () => buildInstance(named, catalog, check)));
  }
  const instancesExpanded = reuse.built;
  const madeByStacks = new Set([...units.values()].flatMap((unit) => [...unit.servers.keys()]));
  for (const [address, entry] of catalog.objects) {
    const name = address.slice('clientcert/'.length);
    if (!address.startsWith('clientcert/') || madeByStacks.has(name)) continue;
    units.set(...reuse.orBuild(`clientcert/${name}`, () => buildClientcert([name, entry], catalog)));
  }
  return { units, templateProblems, instancesExpanded, recordsMerged: reuse.recordsMerged };
}

/** Takes units over where they would come out the same, and counts those it had to build. */
class Reuse {
  readonly #catalog: Catalog;
  readonly #earlier: ReadonlyMap<string, Unit> | undefined;
  built = 0;
  recordsMerged = 0;

  constructor(catalog: Catalog, earlier: ReadonlyMap<string, Unit> | undefined) {
    this.#catalog = catalog;
    this.#earlier = earlier;
  }

  orBuild(key: string, build: () => Unit): [key: string, unit: Unit] {
    const known = this.#earlier?.get(key);
    // A wrong unit is built anew each time: its hints may name objects that it did not draw on.
    if (known !== undefined && isSound(known) && drawsTheSame(known.inputs, this.#catalog)) {
      return [key, known];
    }
    const unit = build();
    this.built += 1;
    this.recordsMerged += unit.nodes.size;
    return [unitKey(unit), unit];
  }
}

function checkTemplates(catalog: Catalog, earlier: TemplateProblems | undefined): TemplateProblems {
  const checked = new Map<Entry<StackTemplate>, readonly Problem[]>();
  for (const entry of catalog.templates.values()) {
    if (isRight(entry)) checked.set(entry, earlier?.get(entry) ?? checkTemplate(entry));
  }
  return checked;
}
