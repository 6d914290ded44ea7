// Reads query parameters.
import type { IncomingMessage } from 'node:http';
import { didYouMean } from '../base/wording.ts';
import type { EventRange } from '../model/instance-event.ts';
import { ROLES, type Role } from '../model/names.ts';
import { ServiceError } from '../model/service-error.ts';

/** The part of Express's request that is read here. */
type Queried = IncomingMessage & { readonly query: Readonly<Record<string, unknown>> };

/**
 * Returns the value of a parameter that is `true` or `false`, false where it is left out. Else throws `invalid_input`.
 */
export function queryFlag(request: Queried, name: string): boolean {
  const text = queryText(request, name) ?? 'false';
  if (text === 'true' || text === 'false') return text === 'true';
  throw new ServiceError('invalid_input', `The query parameter ${name} is true or false, not "${text}"`);
}

/** Returns the role that is asked for, or undefined where none is. Throws `invalid_input` for an unknown one. */
export function queryRole(request: Queried): Role | undefined {
  const text = queryText(request, 'role');
  return text === undefined ? undefined : oneOf('role', text, ROLES);
}

/** Returns the choices that a parameter names, joined by commas; none where it is left out or empty. */
export function queryChoices<Choice extends string>(
  request: Queried,
  name: string,
  choices: readonly Choice[],
  other = '',
): readonly Choice[] {
  const text = queryText(request, name) ?? other;
  return text === '' ? [] : text.split(',').map((one) => oneOf(name, one, choices));
}

/** Returns a text that is one of these. Else throws `invalid_input`. */
function oneOf<Choice extends string>(what: string, text: string, choices: readonly Choice[]): Choice {
  const choice = choices.find((known) => known === text);
  if (choice !== undefined) return choice;
  const advice = didYouMean(text, choices) ?? `the ${what}s are ${choices.join(', ')}`;
  throw new ServiceError('invalid_input', `There is no ${what} "${text}"; ${advice}`);
}

/** Returns a whole number within limits, `other` where it is left out. Else throws `invalid_input`. */
export function queryNumber(
  request: Queried,
  name: string,
  { least, most, other }: { readonly least: number; readonly most: number; readonly other: number },
): number {
  return readNumber(queryText(request, name) ?? String(other), `The query parameter ${name}`, { least, most });
}

/** Returns the whole number that a text is, within limits. Else throws `invalid_input`. */
export function readNumber(
  text: string,
  what: string,
  { least, most }: { readonly least: number; readonly most: number },
): number {
  const number = /^\d{1,16}$/.test(text) ? Number(text) : -1;
  if (number >= least && number <= most) return number;
  throw new ServiceError('invalid_input', `${what} is a whole number from ${least} to ${most}`);
}

/** The limits of the id of an event. */
export const ANY_ID = { least: 0, most: Number.MAX_SAFE_INTEGER };
const EVENTS_MAX = 1_000;
const EVENTS_USUAL = 100;

/** Returns the range of events that is asked for. */
export function queryRange(request: Queried): EventRange {
  const after = queryNumber(request, 'after', { ...ANY_ID, other: 0 });
  const before =
    request.query.before === undefined ? undefined : queryNumber(request, 'before', { ...ANY_ID, other: 0 });
  const limit = queryNumber(request, 'limit', { least: 1, most: EVENTS_MAX, other: EVENTS_USUAL });
  return { after, before, limit };
}

/** Returns the serial that is asked for. Throws `invalid_input` where none is. */
export function querySerial(request: Queried): string {
  const serial = queryText(request, 'serial');
  if (serial !== undefined && serial !== '') return serial;
  throw new ServiceError('invalid_input', 'Name the client: /clients/<serial>, or ?serial=<serial>');
}

/**
 * Returns the texts of a parameter that may be given several times. Throws `invalid_input` where there are too many, or
 * one is empty.
 */
export function queryTexts(request: Queried, name: string, max: number): readonly string[] {
  const texts = [request.query[name] ?? []].flat().map(String);
  if (texts.length <= max && !texts.includes('')) return texts;
  throw new ServiceError(
    'invalid_input',
    `The query parameter ${name} is given at most ${max} times, and is not empty`,
  );
}

/** Returns the text of a parameter, undefined where it is left out. Throws `invalid_input` where it is given twice. */
export function queryText(request: Queried, name: string): string | undefined {
  const value = request.query[name];
  if (value === undefined || typeof value === 'string') return value;
  throw new ServiceError('invalid_input', `The query parameter ${name} is given more than once`);
}
