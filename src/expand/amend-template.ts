// Amends a template for one instance: lays the additions over it, then takes the substractions away.
import { below, type Entry, lastStep, type ProblemText, problemAt } from '../model/entry.ts';
import type { Origin } from '../model/expanded.ts';
import { emptyMap, fieldOf, isMap, type Json, type JsonMap } from '../model/json.ts';
import type { StackInstance, StackTemplate } from '../model/objects.ts';
import type { Problem } from '../model/problem.ts';
import { quote } from '../model/quote.ts';
import { didYouMean } from '../model/suggest.ts';
import { MISTAKES_MAX } from './limits.ts';
import { overlay } from './overlay.ts';
import { type RetiredIndexes, splitRetired } from './retired-indexes.ts';
import { isLeaf, subtract } from './subtract.ts';

const ADDITIONS = '/stackTemplateAdditions';
const SUBSTRACTIONS = '/stackTemplateSubstractions';
const SECTIONS = ['parameters', 'resources'] as const;

/** Pointers below are those of the template's document: `/resources/web/properties/count`. */
export interface AmendedTemplate {
  readonly parameters: JsonMap;
  readonly resources: JsonMap;
  readonly retired: RetiredIndexes;
  /** Tells a value that the instance's additions bring from one of the template. */
  readonly isAdded: (pointer: string) => boolean;
  /** Returns where the value at a pointer is written: in the instance's additions, or in the template. */
  readonly originOf: (pointer: string) => Origin;
  /** The substraction that took away the value at a pointer, or what it stood in; null where none did. */
  readonly removedBy: (pointer: string) => Origin | null;
  /** The mistakes in the additions and substractions themselves. */
  readonly problems: readonly Problem[];
}

type Template = Entry<StackTemplate> & { readonly object: StackTemplate };

const templates = new WeakMap<Template, AmendedTemplate>();

/** Returns the template as it stands in its file: always the same one for the same entry, since thousands of instances share it. */
export function templateAsWritten(template: Template): AmendedTemplate {
  const known = templates.get(template);
  if (known !== undefined) return known;
  const written = readTemplate(template);
  templates.set(template, written);
  return written;
}

function readTemplate(template: Template): AmendedTemplate {
  return {
    parameters: template.object.parameters,
    resources: resourcesOf(template.object),
    retired: new Map(),
    isAdded: () => false,
    originOf: (pointer) => ({ entry: template, pointer }),
    removedBy: () => null,
    problems: [],
  };
}

/** Returns the template as `instance` amends it; as it is written where the instance amends nothing. */
export function amendTemplate(
  instance: Entry<StackInstance> & { readonly object: StackInstance },
  template: Template,
): AmendedTemplate {
  const written = templateAsWritten(template);
  const { stackTemplateAdditions, stackTemplateSubstractions } = instance.object;
  if (isLeaf(stackTemplateAdditions) && isLeaf(stackTemplateSubstractions)) return written;
  const additions = readSections(instance, ADDITIONS, stackTemplateAdditions);
  const substractions = readSections(instance, SUBSTRACTIONS, stackTemplateSubstractions);
  const laid = overlay({ parameters: written.parameters, resources: written.resources }, additions.sections);
  const resources = mapAt(laid.value, 'resources');
  const split = splitRetired(mapAt(substractions.sections, 'resources'), resources, {
    entry: instance,
    pointer: `${SUBSTRACTIONS}/resources`,
  });
  const subtracted = subtract(laid.value, withoutEmpty({ ...substractions.sections, resources: split.others }));
  function isAdded(pointer: string): boolean {
    return nearestIn(laid.overridden, pointer) !== null;
  }
  return {
    parameters: mapAt(subtracted.value, 'parameters'),
    resources: mapAt(subtracted.value, 'resources'),
    retired: split.retired,
    isAdded,
    originOf: (pointer) =>
      isAdded(pointer) ? { entry: instance, pointer: ADDITIONS + pointer } : written.originOf(pointer),
    removedBy(pointer) {
      const removed = nearestIn(subtracted.removed, pointer);
      return removed === null ? null : { entry: instance, pointer: SUBSTRACTIONS + removed };
    },
    problems: [
      ...additions.problems,
      ...substractions.problems,
      ...split.problems,
      ...[...subtracted.missing].slice(0, MISTAKES_MAX).map((missing) => nothingThere(instance, missing)),
      ...[...subtracted.notLeaves].map((notLeaf) => noLeaf(instance, notLeaf)),
    ],
  };
}

/** Returns a problem at the place where the value at `pointer` is written. */
export function problemInTemplate(amended: AmendedTemplate, pointer: string, text: ProblemText): Problem {
  const origin = amended.originOf(pointer);
  return problemAt(origin.entry, origin.pointer, text);
}

/** Returns the problem of a substraction whose victim `needed` names, at `pointer` of the template. */
export function subtractedButUsed(removal: Origin, needed: string, pointer: string): Problem {
  return problemAt(removal.entry, removal.pointer, {
    code: 'taken_away_but_used',
    message: `this is taken away, and ${quote(needed)} at ${pointer} still needs it`,
    hint: 'take that away too, or give it another value in stackTemplateAdditions',
    part: 'key',
  });
}

function resourcesOf({ resources }: StackTemplate): JsonMap {
  const map = emptyMap();
  for (const [key, { type, properties }] of Object.entries(resources)) map[key] = { type, properties };
  return map;
}

/** Takes `parameters` and `resources` out of what an instance changes; its other fields have no effect on servers. */
function readSections(
  instance: Entry<StackInstance>,
  pointer: string,
  changes: JsonMap,
): { readonly sections: JsonMap; readonly problems: readonly Problem[] } {
  const sections = emptyMap();
  const problems: Problem[] = [];
  for (const section of SECTIONS) {
    const value = fieldOf(changes, section);
    if (isMap(value)) sections[section] = value;
    else if (value !== undefined) problems.push(notAMap(instance, below(pointer, section), value));
  }
  return { sections, problems };
}

function notAMap(instance: Entry<StackInstance>, pointer: string, value: Json): Problem {
  return problemAt(instance, pointer, {
    code: 'bad_amendment',
    message: `${lastStep(pointer)} must be a map, and not ${quote(value)}`,
    hint: `name each of the ${lastStep(pointer)} that is meant`,
  });
}

function nothingThere(instance: Entry<StackInstance>, [pointer, present]: [string, readonly string[]]): Problem {
  const key = lastStep(pointer);
  return problemAt(instance, SUBSTRACTIONS + pointer, {
    code: 'nothing_to_take_away',
    severity: 'warning',
    message: `there is no ${quote(key)} to take away`,
    hint: didYouMean(key, present) ?? 'remove it from stackTemplateSubstractions',
    part: 'key',
  });
}

function noLeaf(instance: Entry<StackInstance>, [pointer, value]: [string, Json]): Problem {
  return problemAt(instance, SUBSTRACTIONS + pointer, {
    code: 'bad_amendment',
    message: `${quote(value)} takes nothing away`,
    hint: `write ${lastStep(pointer)}: {} to take ${quote(lastStep(pointer))} away`,
  });
}

/** An empty section names nothing; as a leaf it would take all parameters or all resources away. */
function withoutEmpty(sections: Readonly<Record<string, Json>>): JsonMap {
  const left = emptyMap();
  for (const [section, value] of Object.entries(sections)) {
    if (!isLeaf(value)) left[section] = value;
  }
  return left;
}

function mapAt(map: JsonMap, key: string): JsonMap {
  const value = fieldOf(map, key);
  return isMap(value) ? value : emptyMap();
}

/** Returns the pointer, or the nearest above it, that is in the set; null where none is. */
function nearestIn(pointers: ReadonlySet<string>, pointer: string): string | null {
  for (let nearest = pointer; nearest !== ''; nearest = nearest.slice(0, nearest.lastIndexOf('/'))) {
    if (pointers.has(nearest)) return nearest;
  }
  return null;
}
