// Allows or refuses a request by the client's role. Rights belong to the object that is written, not to the route.
// Every registered client may read; service/scope.ts decides what it sees. See docs/rest.md, roles and least rights.
import type { NextFunction, Request, Response } from 'express';
import { invariant } from '../base/invariant.ts';
import { isNarrow, isReadOnly } from '../model/least-rights.ts';
import { ROLES, type Role } from '../model/names.ts';
import type { Client } from '../model/objects.ts';
import { ServiceError } from '../model/service-error.ts';
import { clientOf, PAGE_CLIENT } from './authenticate.ts';

const RIGHTS = {
  'write stack instances': ['administrator', 'automation-endpoint'],
  'write types': ['administrator'],
  'write the tree': ['administrator'],
  'write clients': ['administrator'],
  operate: ['administrator'],
  retry: ['administrator', 'automation-endpoint'],
  'read notifications': ['administrator', 'automation-endpoint'],
  'take actions': ['proxy'],
  // deliveries.ts also checks the node or tags of the client.
  'confirm records': ['proxy'],
} as const satisfies Readonly<Record<string, readonly Role[]>>;

/** A right of the table above, in the words of the refusal: "The role proxy may not …". */
export type Right = keyof typeof RIGHTS;

/** Returns the roles that have one of these rights. Throws for an unknown right. */
export function rolesWith(rights: readonly string[]): readonly Role[] {
  const having = rights.flatMap((right) => {
    invariant(Object.hasOwn(RIGHTS, right), `there is no right "${right}"`);
    return RIGHTS[right as Right];
  });
  return ROLES.filter((role) => having.some((one) => one === role));
}

/** Throws ServiceError `not_allowed` unless the client's role has the right. */
export function requireRight(client: Client, right: Right): void {
  if (client === PAGE_CLIENT) {
    throw new ServiceError(
      'not_allowed',
      `The page of a management listener may not ${right}: that needs a certificate`,
    );
  }
  const { role } = client;
  const roles: readonly Role[] = RIGHTS[right];
  if (isReadOnly(client) && !right.startsWith('read ')) {
    const { node } = client;
    const what = node === undefined ? 'may only read' : `may only read and confirm the record of ${node}`;
    throw new ServiceError('not_allowed', `This client ${what}: it may not ${right}`);
  }
  // These concern the whole installation.
  if (isNarrow(client) && right.startsWith('read ')) {
    throw new ServiceError('not_allowed', `The rights of this client are limited: it may not ${right}`);
  }
  if (roles.includes(role)) return;
  throw new ServiceError('not_allowed', `The role ${role} may not ${right}; that is for ${roles.join(' and ')}`);
}

/** Returns a handler that passes clients with this right. */
export function allow(right: Right) {
  return (request: Request, _response: Response, next: NextFunction): void => {
    requireRight(clientOf(request), right);
    next();
  };
}
