// Resolves the parameters of a stack: the template declares them with defaults, the instance gives values.

import { didYouMean, quote } from '../base/wording.ts';
import { below, type ProblemText, problemAt, type ValidEntry } from '../model/entry.ts';
import type { Origin } from '../model/expanded.ts';
import type { Json } from '../model/json.ts';
import type { StackInstance } from '../model/objects.ts';
import type { Problem } from '../model/problem.ts';
import { type AmendedTemplate, problemInTemplate } from './amend-template.ts';
import { type Blueprint, pointerOf, type Text } from './blueprint.ts';
import { MISTAKES_MAX } from './limits.ts';
import { isLiteral, tokenize } from './placeholders.ts';

/** The values of the parameters of one stack. */
export interface Parameters {
  readonly values: ReadonlyMap<string, string>;
  /**
   * Returns where the value of `text` is written: the parameter if the text is only a parameter, else the text itself.
   */
  readonly blame: (text: Text) => Origin;
  readonly problems: readonly Problem[];
}

/** What the stages of an expansion read. */
export interface StackInput {
  readonly instance: string;
  readonly amended: AmendedTemplate;
  readonly parameters: Parameters;
}

/** Returns where to correct a property: at the parameter that supplies it, else where it is written. */
export function blameOf(blueprint: Blueprint, property: string, { amended, parameters }: StackInput): Origin {
  const [text, second] = blueprint.properties.get(property)?.texts ?? [];
  if (text === undefined || second !== undefined) return amended.originOf(pointerOf(blueprint, property));
  return parameters.blame(text);
}

/** Returns the value of every parameter: the instance's value, else the default. An empty default is not a value. */
export function resolveParameters(instance: ValidEntry<StackInstance>, amended: AmendedTemplate): Parameters {
  const values = new Map<string, string>();
  const problems: Problem[] = [];
  const given = new Map(Object.entries(instance.object.parameters));
  for (const [name, fallback] of Object.entries(amended.parameters)) {
    const value = given.get(name) ?? (fallback === '' ? undefined : fallback);
    if (typeof value === 'string') values.set(name, value);
    else if (value === undefined) problems.push(noValue(instance, name));
  }
  function blame({ tokens, pointer }: Text): Origin {
    const [only] = tokens;
    if (tokens.length !== 1 || only?.kind !== 'parameter') return amended.originOf(pointer);
    const parameter = below('/parameters', only.name);
    return given.has(only.name) ? { entry: instance, pointer: parameter } : amended.originOf(parameter);
  }
  const unknown = [...given.keys()].filter((name) => !Object.hasOwn(amended.parameters, name));
  problems.push(...unknown.slice(0, MISTAKES_MAX).map((name) => undeclared(instance, name, amended)));
  return { values, problems, blame };
}

/** Reports default values with placeholders; the schemas check everything else. */
export function checkParameters(amended: AmendedTemplate): Problem[] {
  return Object.entries(amended.parameters).flatMap(([name, value]) => {
    const fault = defaultFault(value);
    return fault === undefined ? [] : [problemInTemplate(amended, below('/parameters', name), fault)];
  });
}

function noValue(instance: ValidEntry<StackInstance>, name: string): Problem {
  return problemAt(instance, below('/parameters', name), {
    code: 'missing_parameter',
    message: `the parameter "${name}" has no value`,
    hint: `give it one under parameters; an empty one is written ${name}: ""`,
  });
}

function undeclared(
  instance: ValidEntry<StackInstance>,
  name: string,
  { parameters, removedBy }: AmendedTemplate,
): Problem {
  const pointer = below('/parameters', name);
  const gone = removedBy(pointer) === null ? null : 'stackTemplateSubstractions takes it away: remove one of the two';
  return problemAt(instance, pointer, {
    code: 'undeclared_parameter',
    message: `the template "${instance.object.stackTemplate}" has no parameter "${name}"`,
    hint: gone ?? didYouMean(name, Object.keys(parameters)) ?? 'remove it, or declare it in the template',
    part: 'key',
  });
}

function defaultFault(value: Json): ProblemText | undefined {
  if (typeof value !== 'string' || isLiteral(tokenize(value))) return undefined;
  return {
    code: 'placeholder_in_parameter',
    message: `the placeholder in ${quote(value)} would never be replaced`,
    hint: 'parameters contain plain text; put the placeholder into the property',
  };
}
