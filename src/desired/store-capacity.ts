// Estimates the size of a desired state's servers in the store before any row is written: an admitted server must be
// recordable. docs/concepts.md, limits. Pure: the caller passes the recorded sizes.
import { problemAt } from '../model/entry.ts';
import { compareNames } from '../model/names.ts';
import type { Problem } from '../model/problem.ts';
import type { Spec, WantedServer } from '../model/spec.ts';
import type { Baseline } from './desired-state.ts';
import type { Refusal, Unit } from './unit.ts';

const MIB = 2 ** 20;

/** Limit for all instances together, including unwanted servers that are not gone yet. */
export const ROWS_BYTES_MAX = 1024 * MIB;

/** Limit for the wanted specs of one instance. */
export const INSTANCE_BYTES_MAX = 128 * MIB;

/** A row holds the wanted and the applied spec. */
const SPECS_OF_ROW = 2;
/** Allowance for the other fields of a row. */
const ROW_BYTES = 1024;

type Servers = ReadonlyMap<string, WantedServer>;

/** The composition of the size of wanted specs. */
interface SpecBytes {
  readonly total: number;
  /** Size of the names of servers that others depend on, or list. */
  readonly names: number;
}

/** By the servers of a unit, which never change. */
const KNOWN = new WeakMap<Servers, SpecBytes>();

/** Returns the size of the wanted specs of servers as JSON, in bytes. Shared values count for each server. */
export function specBytes(servers: Servers): SpecBytes {
  const known = KNOWN.get(servers);
  if (known !== undefined) return known;
  const measure = new Measure();
  let total = 0;
  let names = 0;
  for (const { spec } of servers.values()) {
    const own = measure.of(spec.dependsOn) + measure.of(spec.lists);
    names += own;
    total += own + measure.ofSpec(spec);
  }
  const bytes = { total, names };
  KNOWN.set(servers, bytes);
  return bytes;
}

/** Returns the maximum size of the rows of a unit's servers in bytes, without outputs and what is taken of them: these count once they are recorded. */
export function reservedBytes({ servers }: Unit): number {
  return SPECS_OF_ROW * specBytes(servers).total + ROW_BYTES * servers.size;
}

/** The recorded rows at the time of admission. */
interface RecordedSize {
  readonly baseline: Baseline;
  /** Size of all rows, in bytes. */
  readonly bytes: number;
}

/** Returns the current or future size of the units, and of rows that belong to no unit, in bytes. */
export function capacityUsed(units: Iterable<Unit>, recorded: RecordedSize): number {
  const unexplained = Math.max(0, recorded.bytes - sumOf(recorded.baseline.units.values()));
  return unexplained + sumOf(units);
}

/** Returns true if the units fit. */
export function hasCapacityFor(units: Iterable<Unit>, recorded: RecordedSize): boolean {
  return capacityUsed(units, recorded) <= ROWS_BYTES_MAX;
}

/** Returns refusals of the units that exceed the capacity: as few as possible, those that grow most. */
export function capacityRefusals(
  units: ReadonlyMap<string, Unit>,
  recorded: RecordedSize,
  limit = ROWS_BYTES_MAX,
): Refusal[] {
  let over = capacityUsed(units.values(), recorded) - limit;
  if (over <= 0) return [];
  const growing = [...units].flatMap(([key, unit]) => {
    const before = recorded.baseline.units.get(key);
    const growth = growthOf(unit, before);
    return before === unit || growth <= 0 ? [] : [{ key, unit, growth }];
  });
  const refused: Refusal[] = [];
  for (const { key, unit, growth } of growing.sort((a, b) => b.growth - a.growth || compareNames(a.key, b.key))) {
    if (over <= 0) break;
    refused.push({ key, problem: noCapacity(unit, growth) });
    over -= growth;
  }
  return refused;
}

/** Returns refusals of these units, which exceeded the capacity when they were judged. */
export function refuseGrowth(
  keys: readonly string[],
  { units, baseline }: { readonly units: ReadonlyMap<string, Unit>; readonly baseline: Baseline },
): Refusal[] {
  return keys.flatMap((key) => {
    const unit = units.get(key);
    return unit === undefined ? [] : [{ key, problem: noCapacity(unit, growthOf(unit, baseline.units.get(key))) }];
  });
}

function growthOf(unit: Unit, before: Unit | undefined): number {
  return reservedBytes(unit) - (before === undefined ? 0 : reservedBytes(before));
}

/** Returns the problem of an instance whose servers are too large to be recorded, or undefined. */
export function stackTooLarge(unit: Unit): Problem | undefined {
  const { total, names } = specBytes(unit.servers);
  if (total <= INSTANCE_BYTES_MAX) return undefined;
  return problemAt(unit.entry, '/stackTemplate', {
    code: 'stack_too_large',
    message: `what is wanted of the servers of this stack takes ${mib(total)} MiB, of which ${mib(names)} are names of servers they depend on or list; the limit is ${mib(INSTANCE_BYTES_MAX)}`,
    hint: names > total / 2 ? 'depend on fewer servers, or divide the stack' : 'divide it into several stacks',
    instances: [unit.name],
  });
}

function noCapacity(unit: Unit, growth: number): Problem {
  return problemAt(unit.entry, '/stackTemplate', {
    code: 'no_room',
    message: `the store has no room for the servers of "${unit.name}": they need ${mib(growth)} MiB more, and all instances together may take ${mib(ROWS_BYTES_MAX)}`,
    hint: 'remove other instances first, or let another controller follow a part of them',
    instances: [unit.name],
  });
}

function sumOf(units: Iterable<Unit>): number {
  let sum = 0;
  for (const unit of units) sum += reservedBytes(unit);
  return sum;
}

function mib(bytes: number): string {
  return Math.ceil(bytes / MIB).toLocaleString('en-US');
}

/** Measures values as JSON. Lists and layers that servers share are measured once. */
class Measure {
  readonly #shared = new Map<object, number>();

  of(value: object): number {
    const known = this.#shared.get(value) ?? lengthOf(value);
    this.#shared.set(value, known);
    return known;
  }

  /** Without the names. */
  ofSpec({ kind, properties, reads = {}, layers, configurationOnly }: Spec): number {
    let bytes = 100 + kind.length + this.of(configurationOnly);
    for (const [name, text] of Object.entries(reads)) bytes += name.length + 4 + this.of(text);
    for (const [name, value] of Object.entries(properties)) {
      bytes += name.length + 4 + (typeof value === 'string' ? lengthOf(value) : this.of(value));
    }
    for (const [type, layer] of Object.entries(layers)) bytes += type.length + 4 + this.of(layer);
    return bytes;
  }
}

function lengthOf(value: string | object): number {
  return Buffer.byteLength(JSON.stringify(value));
}
