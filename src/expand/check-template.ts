// Finds the mistakes of a template that need no values: in the template alone, or as an instance amends it.

import { didYouMean, quote, quoteSome, withForeignCharacter } from '../base/wording.ts';
import { below, type ProblemText, type ValidEntry } from '../model/entry.ts';
import { DESCRIBING_FIELDS, isStructural, PROXY_TAG, recordKeyFault, SELECTORS } from '../model/keys.ts';
import type { StackTemplate } from '../model/objects.ts';
import { type Problem, sortProblems } from '../model/problem.ts';
import { type AmendedTemplate, problemInTemplate, subtractedButUsed, templateAsWritten } from './amend-template.ts';
import { type Blueprint, readBlueprints, takesOutputs, textsOf } from './blueprint.ts';
import { checkDependencyCycles, checkValueCycles } from './check-cycles.ts';
import { groupFieldFault } from './group-members.ts';
import { MISTAKES_MAX } from './limits.ts';
import {
  type ArrayToken,
  foreignPlaceholders,
  isLiteral,
  literalOf,
  lookalikes,
  type OutputToken,
  type Token,
} from './placeholders.ts';
import { checkParameters } from './resolve-parameters.ts';

/**
 * Returns the mistakes of a valid file that are visible without an instance. expandStack finds them again unless an
 * amendment corrects them, with the same places and messages, so sortProblems joins the two.
 */
export function checkTemplate(template: ValidEntry<StackTemplate>): readonly Problem[] {
  return sortProblems(readTemplate(templateAsWritten(template)).problems);
}

interface ReadTemplate {
  readonly blueprints: readonly Blueprint[];
  readonly problems: readonly Problem[];
}

const readTemplates = new WeakMap<AmendedTemplate, ReadTemplate>();

/** Returns the resources and the mistakes of a template, which all instances without amendments share. */
export function readTemplate(amended: AmendedTemplate): ReadTemplate {
  const known = readTemplates.get(amended);
  if (known !== undefined) return known;
  const { blueprints, problems } = readBlueprints(amended);
  const read = { blueprints, problems: [...problems, ...checkAmended(amended, blueprints)] };
  readTemplates.set(amended, read);
  return read;
}

function checkAmended(amended: AmendedTemplate, blueprints: readonly Blueprint[]): Problem[] {
  return [
    ...checkParameters(amended),
    ...checkPlaceholders(amended, blueprints),
    ...blueprints.flatMap((blueprint) => checkGroup(amended, blueprint)),
    ...blueprints.flatMap((blueprint) => checkName(amended, blueprint)),
    ...checkValueCycles(amended, blueprints),
    ...checkDependencyCycles(amended, blueprints),
  ];
}

function checkGroup(amended: AmendedTemplate, { key, group }: Blueprint): Problem[] {
  return [...(group ?? [])].flatMap(([field, { tokens, pointer }]) => {
    // A value with a placeholder needs an instance; group-members.ts checks it.
    const fault = isLiteral(tokens) ? groupFieldFault(key, field, literalOf(tokens)) : undefined;
    return fault === undefined ? [] : [problemInTemplate(amended, pointer, fault)];
  });
}

function checkName(amended: AmendedTemplate, { properties }: Blueprint): Problem[] {
  const name = properties.get('name');
  if (name === undefined) return [];
  const isArray = name.texts.some(({ tokens }) => tokens.length === 1 && tokens[0]?.kind === 'array');
  if (!name.isList && !isArray) return [];
  const message = 'name is a list; it must be one string';
  return [
    problemInTemplate(amended, name.pointer, { code: 'bad_server_name', message, hint: 'a server has one name' }),
  ];
}

interface PlaceholderUse {
  readonly amended: AmendedTemplate;
  readonly byKey: ReadonlyMap<string, Blueprint>;
  readonly blueprint: Blueprint;
  /** The server property; null for a property of the group itself. */
  readonly property: string | null;
}

/** The fault of a placeholder. */
interface PlaceholderFault extends ProblemText {
  /**
   * The pointer of the parameter, resource or property that the placeholder names. A substraction may have removed it.
   */
  readonly named?: string;
}

/**
 * Returns the mistakes of placeholders: each must name something that exists, and be at a place where it has a meaning.
 * Texts that only look like placeholders are warnings.
 */
function checkPlaceholders(amended: AmendedTemplate, blueprints: readonly Blueprint[]): Problem[] {
  const errors = findErrors(amended, blueprints).take(MISTAKES_MAX);
  const warnings = findWarnings(amended, blueprints).take(MISTAKES_MAX);
  return [...errors, ...warnings];
}

function* findErrors(amended: AmendedTemplate, blueprints: readonly Blueprint[]): Generator<Problem> {
  const byKey = new Map(blueprints.map((blueprint) => [blueprint.key, blueprint]));
  for (const blueprint of blueprints) {
    for (const { text, property } of textsOf(blueprint)) {
      for (const token of text.tokens) {
        const fault = faultOf(token, { amended, byKey, blueprint, property });
        if (fault === undefined) continue;
        const removal = fault.named === undefined ? null : amended.removedBy(fault.named);
        if (removal === null) yield problemInTemplate(amended, text.pointer, fault);
        else yield subtractedButUsed(removal, token.text, text.pointer);
      }
    }
  }
}

function* findWarnings(amended: AmendedTemplate, blueprints: readonly Blueprint[]): Generator<Problem> {
  for (const { text } of blueprints.flatMap((blueprint) => [...textsOf(blueprint)])) {
    const found = [...lookalikes(text.raw), ...foreignPlaceholders(text.raw, amended.parameters)];
    for (const written of found) yield problemInTemplate(amended, text.pointer, lookalike(written));
  }
}

function faultOf(token: Token, place: PlaceholderUse): PlaceholderFault | undefined {
  if (token.kind === 'literal') return undefined;
  if (token.kind === 'parameter') return parameterFault(token, place);
  if (token.kind === 'index') return indexFault(place);
  if (token.kind === 'output') return outputFault(token, place);
  return place.property === null ? arrayInGroupField(token) : arrayFault(token, place);
}

function parameterFault(
  { name, text }: { readonly name: string; readonly text: string },
  { amended, blueprint, property }: PlaceholderUse,
): PlaceholderFault | undefined {
  if (Object.hasOwn(amended.parameters, name)) return undefined;
  const inScope = [
    ...Object.keys(amended.parameters),
    ...(blueprint.group === null || property === null ? [] : ['index']),
  ];
  return {
    named: below('/parameters', name),
    code: 'undeclared_placeholder',
    message: `"${text}" names no parameter`,
    hint: didYouMean(name, inScope) ?? `declare "${name}" under parameters, or write "<${text}" for the text itself`,
  };
}

function indexFault({ blueprint, property }: PlaceholderUse): PlaceholderFault | undefined {
  if (property !== null && blueprint.group !== null) return undefined;
  return {
    code: 'index_outside_group',
    message: '"<<index>>" has a meaning only in resource_def of a group',
    hint: 'write "<<<index>>" for the text itself',
  };
}

function arrayInGroupField({ text }: ArrayToken): PlaceholderFault {
  return {
    code: 'array_in_group_property',
    message: `${quote(text)} cannot be in a property of the group itself`,
    hint: 'use a parameter',
  };
}

/**
 * Returns true for a property that may not contain outputs, because its value is needed before any server is created.
 */
function isKnownEarly(property: string): boolean {
  return DESCRIBING_FIELDS.has(property) || SELECTORS.has(property) || property === PROXY_TAG || isStructural(property);
}

function outputFault(token: OutputToken, place: PlaceholderUse): PlaceholderFault | undefined {
  const { property, byKey } = place;
  if (property !== null && !isKnownEarly(property))
    return byKey.has(token.resource) ? outputNameFault(token) : resourceFault(token, 'unknown_output_resource', place);
  const what = property === null ? 'a property of the group itself' : `"${property}"`;
  return {
    code: 'misplaced_output',
    message: `${quote(token.text)} cannot be in ${what}: its value must be known before any server is created`,
    hint: 'use a parameter, or put the output into another property',
  };
}

/** A provider's answer with an output of an invalid name counts as lost, so the server would wait for it forever. */
function outputNameFault({ name, text }: OutputToken): PlaceholderFault | undefined {
  const fault = recordKeyFault(name);
  if (fault === undefined) return undefined;
  const message = `${quote(text)} names no output: ${quote(name)}${withForeignCharacter(name)} ${fault}`;
  return { code: 'bad_key', message, hint: 'write the name under which the provider reports it' };
}

function resourceFault(
  { resource, text }: ArrayToken | OutputToken,
  code: ProblemText['code'],
  { amended, byKey }: PlaceholderUse,
): PlaceholderFault | undefined {
  // A malformed resource is reported at its own place.
  if (Object.hasOwn(amended.resources, resource)) return undefined;
  return {
    named: below('/resources', resource),
    code,
    message: `${quote(text)} names no resource`,
    hint: didYouMean(resource, byKey.keys()) ?? `the resources are ${quoteSome([...byKey.keys()])}`,
  };
}

function arrayFault(token: ArrayToken, place: PlaceholderUse): PlaceholderFault | undefined {
  const { resource, property, text } = token;
  const blueprint = place.byKey.get(resource);
  if (blueprint === undefined) return resourceFault(token, 'unknown_array_resource', place);
  if (takesOutputs(blueprint.properties.get(property))) {
    const message = `${quote(text)} lists a property that takes outputs, whose values are known only later`;
    return { code: 'array_of_outputs', message, hint: 'take those outputs here, too' };
  }
  if (property === 'name' || blueprint.properties.has(property)) return undefined;
  const advice = isStructural(property)
    ? `"${property}" is structure and has no values`
    : `add "${property}" to the properties of "${resource}"`;
  return {
    named: below(blueprint.propertiesPointer, property),
    code: 'unknown_array_property',
    message: `${quote(text)} names no property of "${resource}"`,
    hint: didYouMean(property, ['name', ...blueprint.properties.keys()]) ?? advice,
  };
}

function lookalike(written: string): ProblemText {
  return {
    code: 'not_a_placeholder',
    severity: 'warning',
    message: `${quote(written)} looks like a placeholder but is not one`,
    hint: "write <<parameter>>, <<index>>, <<(Array)['resource']['property']>> or <<(Output)['resource']['name']>>, without spaces",
  };
}
