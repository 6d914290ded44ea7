// Reads query parameters: it checks each known one and ignores unknown ones.
import type { IncomingMessage } from 'node:http';
import { didYouMean } from '../base/wording.ts';
import { ROLES, type Role } from '../model/names.ts';
import { ServiceError } from '../model/service-error.ts';

/** The part of Express's request that is read here. */
type Queried = IncomingMessage & { readonly query: Readonly<Record<string, unknown>> };

/** Returns the value of a parameter that is `true` or `false`, false where it is left out. Else throws `invalid_input`. */
export function queryFlag(request: Queried, name: string): boolean {
  const text = queryText(request, name) ?? 'false';
  if (text === 'true' || text === 'false') return text === 'true';
  throw new ServiceError('invalid_input', `The query parameter ${name} is true or false, not "${text}"`);
}

/** Returns the role that is asked for, or undefined where none is. Throws `invalid_input` for an unknown one. */
export function queryRole(request: Queried): Role | undefined {
  const text = queryText(request, 'role');
  const role = ROLES.find((known) => known === text);
  if (text === undefined || role !== undefined) return role;
  const advice = didYouMean(text, ROLES) ?? `the roles are ${ROLES.join(', ')}`;
  throw new ServiceError('invalid_input', `There is no role "${text}"; ${advice}`);
}

/** Returns a whole number within limits, `other` where it is left out. Else throws `invalid_input`. */
export function queryNumber(
  request: Queried,
  name: string,
  { least, most, other }: { readonly least: number; readonly most: number; readonly other: number },
): number {
  const text = queryText(request, name) ?? String(other);
  const number = /^\d{1,16}$/.test(text) ? Number(text) : -1;
  if (number >= least && number <= most) return number;
  throw new ServiceError('invalid_input', `The query parameter ${name} is a whole number from ${least} to ${most}`);
}

/** Returns the serial that is asked for. Throws `invalid_input` where none is. */
export function querySerial(request: Queried): string {
  const serial = queryText(request, 'serial');
  if (serial !== undefined && serial !== '') return serial;
  throw new ServiceError('invalid_input', 'Name the client: /clients/<serial>, or ?serial=<serial>');
}

/** Returns the text of a parameter, undefined where it is left out. Throws `invalid_input` where it is given twice. */
export function queryText(request: Queried, name: string): string | undefined {
  const value = request.query[name];
  if (value === undefined || typeof value === 'string') return value;
  throw new ServiceError('invalid_input', `The query parameter ${name} is given more than once`);
}
