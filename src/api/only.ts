// Answers 405 for methods that a path does not have.
import type { NextFunction, Request, Response } from 'express';
import { ServiceError } from '../model/service-error.ts';

type Method = 'GET' | 'POST' | 'DELETE';

/** Returns a handler that lets pass only these methods, and HEAD with GET. The refusal of others lists them. */
export function only(...methods: readonly Method[]) {
  return onlyWithAdvice(methods, {});
}

/** Returns the same handler. The refusal of a method that `advice` names says where it is possible. */
export function onlyWithAdvice(methods: readonly Method[], advice: Readonly<Record<string, string>>) {
  const allowed = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return (request: Request<unknown>, response: Response, next: NextFunction): void => {
    if (allowed.includes(request.method)) {
      next();
      return;
    }
    response.setHeader('Allow', allowed.join(', '));
    const message = [
      `${request.method} is not possible on ${request.path}, only ${allowed.join(', ')}`,
      ...(Object.hasOwn(advice, request.method) ? [advice[request.method]] : []),
    ].join('; ');
    throw new ServiceError('method_not_allowed', message);
  };
}
