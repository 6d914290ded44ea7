// Reads query parameters.
import type { IncomingMessage } from 'node:http';
import { didYouMean } from '../base/wording.ts';
import type { EventRange } from '../model/instance-event.ts';
import { ROLES, type Role } from '../model/names.ts';
import { ServiceError } from '../model/service-error.ts';

/** The part of Express's request that is read here. */
type Queried = IncomingMessage & { readonly query: Readonly<Record<string, unknown>> };

/**
 * Returns the value of a parameter that is `true` or `false`; false if it is omitted. Otherwise throws `invalid_input`.
 */
export function queryFlag(request: Queried, name: string): boolean {
  const text = queryText(request, name) ?? 'false';
  if (text === 'true' || text === 'false') return text === 'true';
  throw new ServiceError('invalid_input', `The query parameter ${name} is true or false, not "${text}"`);
}

/** Returns the requested role, or undefined if there is none. Throws `invalid_input` for an unknown role. */
export function queryRole(request: Queried): Role | undefined {
  const text = queryText(request, 'role');
  return text === undefined ? undefined : oneOf('role', text, ROLES);
}

/** Returns the comma-separated choices of a parameter; none if it is omitted or empty. */
export function queryChoices<Choice extends string>(
  request: Queried,
  name: string,
  choices: readonly Choice[],
  other = '',
): readonly Choice[] {
  const text = queryText(request, name) ?? other;
  return text === '' ? [] : text.split(',').map((one) => oneOf(name, one, choices));
}

/** Returns the text if it is one of the choices. Otherwise throws `invalid_input`. */
function oneOf<Choice extends string>(what: string, text: string, choices: readonly Choice[]): Choice {
  const choice = choices.find((known) => known === text);
  if (choice !== undefined) return choice;
  const advice = didYouMean(text, choices) ?? `the ${what}s are ${choices.join(', ')}`;
  throw new ServiceError('invalid_input', `There is no ${what} "${text}"; ${advice}`);
}

/** Returns an integer within limits; `other` if it is omitted. Otherwise throws `invalid_input`. */
export function queryNumber(
  request: Queried,
  name: string,
  { least, most, other }: { readonly least: number; readonly most: number; readonly other: number },
): number {
  return readNumber(queryText(request, name) ?? String(other), `The query parameter ${name}`, { least, most });
}

/** Parses an integer within limits. Throws `invalid_input` for other texts. */
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

/** Returns the requested range of events. */
export function queryRange(request: Queried): EventRange {
  const after = queryNumber(request, 'after', { ...ANY_ID, other: 0 });
  const before =
    request.query.before === undefined ? undefined : queryNumber(request, 'before', { ...ANY_ID, other: 0 });
  const limit = queryNumber(request, 'limit', { least: 1, most: EVENTS_MAX, other: EVENTS_USUAL });
  return { after, before, limit };
}

/** Returns the requested serial. Throws `invalid_input` if there is none. */
export function querySerial(request: Queried): string {
  const serial = queryText(request, 'serial');
  if (serial !== undefined && serial !== '') return serial;
  throw new ServiceError('invalid_input', 'Name the client: /clients/<serial>, or ?serial=<serial>');
}

/**
 * Returns the texts of a repeatable parameter. Throws `invalid_input` if there are too many or one is empty.
 */
export function queryTexts(request: Queried, name: string, max: number): readonly string[] {
  const texts = [request.query[name] ?? []].flat().map(String);
  if (texts.length <= max && !texts.includes('')) return texts;
  throw new ServiceError(
    'invalid_input',
    `The query parameter ${name} is given at most ${max} times, and is not empty`,
  );
}

/** Returns the text of a parameter; undefined if it is omitted. Throws `invalid_input` if it is repeated. */
export function queryText(request: Queried, name: string): string | undefined {
  const value = request.query[name];
  if (value === undefined || typeof value === 'string') return value;
  throw new ServiceError('invalid_input', `The query parameter ${name} is given more than once`);
}
