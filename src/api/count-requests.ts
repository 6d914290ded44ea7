// Counts requests by the pattern of their route, the role of their client, and the status of their answer. Names never become labels:
// what is below no route is "unknown".
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Express, Router } from 'express';
import type { Clock } from '../base/clock.ts';
import type { Metrics } from '../base/metrics.ts';
import { findClient } from './authenticate.ts';

const UNKNOWN = 'unknown';

/** A part of the patterns, and what may follow it. */
interface Part {
  /** The pattern that ends here. */
  pattern?: string;
  readonly literals: Map<string, Part>;
  parameter?: Part;
}

/** The patterns of an application's routes. */
export class RoutePatterns {
  readonly #root: Part = { literals: new Map() };

  constructor(app: Pick<Express, 'router'>) {
    for (const pattern of patternsIn(app.router.stack)) this.#add(pattern);
  }

  /** Returns the pattern of the route that answers a target; `unknown`: none does. With a final slash or without. */
  find(target: string): string {
    const end = target.indexOf('?');
    const parts = (end === -1 ? target : target.slice(0, end)).split('/').slice(1);
    if (parts.at(-1) === '') parts.pop();
    return findIn(this.#root, parts, 0) ?? UNKNOWN;
  }

  /** `{/:key}` is a part that may be left out. */
  #add(pattern: string): void {
    const [must = '', may] = pattern.split('{');
    for (const path of may === undefined ? [must] : [must, must + may.replace('}', '')]) {
      let part = this.#root;
      for (const name of path.split('/').slice(1))
        part = name.startsWith(':') ? parameterOf(part) : literalOf(part, name);
      part.pattern ??= pattern;
    }
  }
}

function parameterOf(part: Part): Part {
  part.parameter ??= { literals: new Map() };
  return part.parameter;
}

function literalOf({ literals }: Part, name: string): Part {
  const next = literals.get(name) ?? { literals: new Map() };
  literals.set(name, next);
  return next;
}

/** What is written goes before what is a parameter. No deeper than the longest pattern. */
function findIn(part: Part, parts: readonly string[], index: number): string | undefined {
  const name = parts[index];
  if (name === undefined) return part.pattern;
  const literal = part.literals.get(name);
  const found = literal && findIn(literal, parts, index + 1);
  if (found !== undefined || name === '' || part.parameter === undefined) return found;
  return findIn(part.parameter, parts, index + 1);
}

function patternsIn(stack: Router['stack']): string[] {
  return stack.flatMap(({ route, handle }) => {
    if (route !== undefined) return [route.path];
    return 'stack' in handle ? patternsIn(handle.stack as Router['stack']) : [];
  });
}

/** Returns a function that has a request counted once its answer has ended, or its client is gone before the end. */
export function countRequests(
  metrics: Metrics,
  { app, clock }: { readonly app: Pick<Express, 'router'>; readonly clock: Clock },
): (request: IncomingMessage, response: ServerResponse) => void {
  const patterns = new RoutePatterns(app);
  return (request, response) => {
    const begin = clock.monotonic();
    const { url = '' } = request;
    response.on('close', () => {
      // Nothing was answered: the client has gone.
      if (!response.headersSent) return;
      const route = patterns.find(url);
      const role = findClient(request)?.role ?? 'none';
      const code = String(response.statusCode);
      metrics.count('treeline_http_requests_total', { route, role, code });
      metrics.observe('treeline_http_request_duration_seconds', { route }, (clock.monotonic() - begin) / 1000);
    });
  };
}
