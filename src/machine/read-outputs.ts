// Fills in properties that use outputs of other servers. Pure: the caller passes the reported outputs. ARCHITECTURE.md,
// "Outputs".
import { emptyMap, fieldOf, isMap, isSame, type JsonMap } from '../model/json.ts';
import { TEXT_LENGTH_MAX } from '../model/keys.ts';
import type { PropertyValue } from '../model/objects.ts';
import { outputsOf, serversOf } from '../model/outputs.ts';
import type { OutputPiece, OutputText, OutputTexts, Spec } from '../model/spec.ts';

/** The most characters of all values that one server gets from outputs. Its own outputs have the same limit. */
const READ_LENGTH_MAX = 64 * 1024;

/** The known outputs of servers. */
export interface OutputFacts {
  /** Returns the last reported outputs of a server; undefined if it has no row. */
  readonly outputsOf: (server: string) => JsonMap | undefined;
  /** Returns false if a property must not have a value: it is for a secret, and the value is not a reference. */
  readonly mayHold?: (property: string, value: PropertyValue) => boolean;
}

/** An output that gives a property no value. */
export interface UnknownOutput {
  /** The server that reports or should report it. */
  readonly server: string;
  readonly output: string;
  /** Why its value cannot be used, as the end of a sentence that begins with the output; null: it was not reported. */
  readonly fault: string | null;
}

/** Returns the texts of the properties whose value is not known. */
export function unknownReads({ reads, properties }: Spec): OutputTexts {
  if (reads === undefined) return NO_READS;
  return Object.fromEntries(Object.entries(reads).filter(([name]) => !Object.hasOwn(properties, name)));
}

const NO_READS: OutputTexts = {};

/** Returns a spec without values from outputs, as expansion makes it. */
export function asWritten(spec: Spec): Spec {
  return spec.reads === undefined ? spec : { ...spec, properties: writtenProperties(spec) };
}

/** The values that a text had in earlier specs of the server. */
export interface LastValues {
  /** In order of precedence. */
  readonly specs: readonly Spec[];
  /** True to keep these values even if outputs have changed. */
  readonly stay?: boolean;
}

/**
 * Returns a spec with the current values from outputs; the same object if nothing changes. If an output is not reported
 * or cannot be used, the property keeps the last value of the same text.
 */
export function takeOutputs(spec: Spec, last: LastValues, facts: OutputFacts): Spec {
  if (spec.reads === undefined) return spec;
  const properties: Record<string, PropertyValue> = writtenProperties(spec);
  for (const [name, found] of evaluate(spec.reads, facts)) {
    const kept = last.stay || !('value' in found) ? keptValue(name, { spec, last, facts }) : undefined;
    const value = kept ?? ('value' in found ? found.value : undefined);
    if (value !== undefined) properties[name] = value;
  }
  return isSame(properties, spec.properties) ? spec : { ...spec, properties };
}

/** Returns the current values from outputs, by property. */
export function readValues(reads: OutputTexts, facts: OutputFacts): Readonly<Record<string, PropertyValue>> {
  const found = [...evaluate(reads, facts)];
  return Object.fromEntries(found.flatMap(([name, one]) => ('value' in one ? [[name, one.value]] : [])));
}

/**
 * Returns the outputs that currently have no usable value, by property, even if the property keeps an earlier value.
 */
export function unknownOutputs({ reads = NO_READS }: Spec, facts: OutputFacts): ReadonlyMap<string, UnknownOutput> {
  const unknown = new Map<string, UnknownOutput>();
  for (const [name, found] of evaluate(reads, facts)) if (!('value' in found)) unknown.set(name, found);
  return unknown;
}

/** Returns the output that the first property without a value waits for; undefined if all properties have values. */
export function missingOutput(spec: Spec, facts: OutputFacts): UnknownOutput | undefined {
  const [name] = Object.keys(unknownReads(spec));
  return name === undefined ? undefined : unknownOutputs(spec, facts).get(name);
}

function writtenProperties({ properties, reads = NO_READS }: Spec): Record<string, PropertyValue> {
  const written = emptyMap<PropertyValue>();
  for (const [name, value] of Object.entries(properties)) if (!Object.hasOwn(reads, name)) written[name] = value;
  return written;
}

interface Keeping {
  readonly spec: Spec;
  readonly last: LastValues;
  readonly facts: OutputFacts;
}

function keptValue(name: string, { spec, last, facts }: Keeping): PropertyValue | undefined {
  const text = fieldOf(spec.reads ?? {}, name);
  // The applied spec of an adopted server contains observed values, which do not come from outputs.
  const known = last.specs.find(({ reads = NO_READS }) => isSame(text, fieldOf(reads, name)));
  const value = known && fieldOf(known.properties, name);
  return value === undefined || facts.mayHold?.(name, value) === false ? undefined : value;
}

type Found = UnknownOutput | { readonly value: PropertyValue };

function* evaluate(reads: OutputTexts, facts: OutputFacts): Generator<readonly [property: string, found: Found]> {
  let left = READ_LENGTH_MAX;
  for (const [name, text] of Object.entries(reads)) {
    const found = readText(text, facts);
    if (!('value' in found)) {
      yield [name, found];
      continue;
    }
    const { value } = found;
    left -= lengthOf(value);
    const [{ output, servers } = { output: '', servers: [] }] = outputsOf(text);
    if (left < 0) yield [name, { server: servers[0] ?? '', output, fault: TOO_LONG }];
    else if (facts.mayHold?.(name, value) === false)
      yield [
        name,
        { server: servers[0] ?? '', output, fault: `is not a reference to a secret, as "${name}" has to be` },
      ];
    else yield [name, found];
  }
}

const TOO_LONG = 'makes the values that the server takes longer than 64 KiB';

/** An empty item counts as one character. */
function lengthOf(value: PropertyValue): number {
  return typeof value === 'string' ? value.length : value.reduce((sum, item) => sum + Math.max(item.length, 1), 0);
}

/** Stops soon after the limit, because many servers may report long values. */
function readText(text: OutputText, facts: OutputFacts): Found {
  const items: string[] = [];
  let left = READ_LENGTH_MAX;
  for (const pieces of text.texts) {
    const value = textOf(pieces, facts);
    if (typeof value !== 'string' && 'output' in value) return value;
    if (!text.isList) return { value };
    items.push(...[value].flat());
    left -= lengthOf(value);
    // The caller reports that the value is too long.
    if (left < 0) break;
  }
  return { value: items };
}

/** Returns a list only if the whole text is one output that is a list or comes from a group. */
function textOf(pieces: readonly OutputPiece[], facts: OutputFacts): PropertyValue | UnknownOutput {
  let text = '';
  for (const piece of pieces) {
    const value = typeof piece === 'string' ? piece : reportedValue(piece, facts);
    if (typeof value !== 'string' && 'output' in value) return value;
    if (pieces.length === 1) return value;
    text += [value].flat().join(',');
    if (typeof piece !== 'string' && text.length > TEXT_LENGTH_MAX)
      return { server: serversOf(piece)[0] ?? '', output: piece.output, fault: TOO_LONG };
  }
  return text;
}

function reportedValue(piece: Exclude<OutputPiece, string>, facts: OutputFacts): PropertyValue | UnknownOutput {
  const { output } = piece;
  const items: string[] = [];
  let left = READ_LENGTH_MAX;
  for (const server of serversOf(piece)) {
    const value = fieldOf(facts.outputsOf(server) ?? {}, output);
    if (value === undefined) return { server, output, fault: null };
    if (value === null || isMap(value))
      return { server, output, fault: 'is not a text, number, boolean or list of texts' };
    const list = Array.isArray(value) ? value.map(String) : undefined;
    if (typeof piece.of === 'string') return list ?? String(value);
    // Lists do not nest, as with Array placeholders.
    const own = list ?? [String(value)];
    left -= lengthOf(own);
    if (left < 0) return { server, output, fault: TOO_LONG };
    for (const item of own) items.push(item);
  }
  return items;
}
