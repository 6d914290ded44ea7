// Every route of the interface, read from schemas/api.json: who may send it, and a request that succeeds with the sample parts.
import type { Router } from 'express';
import api from '../../schemas/api.json' with { type: 'json' };
import { AnswerCache } from '../../src/api/answer-cache.ts';
import { createRoutes } from '../../src/api/app.ts';
import { rolesWith } from '../../src/api/authorize.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createLog } from '../../src/base/log.ts';
import type { Role } from '../../src/model/names.ts';
import { ACTION, createSampleParts } from './sample-parts.ts';
import { COMMIT } from './sample-reader.ts';

/** One route, and a request for it. */
export interface Route {
  readonly method: string;
  /** Of the client that asks, `OWN` is the serial. */
  readonly path: string;
  readonly body: object;
  /** The status for who may send it. */
  readonly status: number;
  /** Undefined: every registered client may. */
  readonly right: string | undefined;
  readonly roles: readonly Role[];
  /** Its answer ends only with its client. */
  readonly isEndless: boolean;
}

/** The fields of an operation that are read here. */
interface Described {
  readonly kind: string;
  readonly rights?: readonly string[];
  readonly body?: string;
  readonly answers?: Readonly<Record<string, unknown>>;
}

const ALL_ROLES: readonly Role[] = ['administrator', 'automation-endpoint', 'proxy'];
const NAMES: Readonly<Record<string, string>> = {
  stack_instance_id: 'shop',
  stack_template_id: 'web',
  serial: 'OWN',
  type_name: 'zone',
  type_id: 'z1',
  clientcert: 'shop-web',
  node: 'shop-web',
  server: 'shop-web',
  key: 'zone',
  action_id: ACTION.id,
  oid: COMMIT,
};
/** By the name of their schemas; other bodies may be empty. */
const BODIES: Readonly<Record<string, object>> = {
  Applied: { digest: '"0123456789abcdefghijkl"', outcome: 'applied' },
  Approval: { digest: 'beef' },
  AcceptedHistory: { commit: 'beef' },
  Acknowledgement: { instance: 'shop', end: true },
  RetryTarget: { all: true },
  Target: { all: true },
  CheckTarget: { instance: 'shop' },
  ServerTarget: { resource: 'shop-web' },
  Heartbeat: { lease: 'secret' },
  Report: { lease: 'secret', outcome: 'done' },
};

/** By `METHOD /path`, with the parameters of the path as Express writes them. */
export const ROUTES: Readonly<Record<string, Route>> = Object.fromEntries(
  Object.entries(api.operations as Readonly<Record<string, Described>>).map(([described, operation]) => {
    const [method = '', template = ''] = described.replace(/(?<=\w|\})\/$/, '').split(' ');
    const route = `${method} ${template.replaceAll(/\{(\w+)\}/g, ':$1')}`;
    const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => NAMES[name] ?? name);
    return [route, routeOf(method, route === 'DELETE /clients' ? `${path}?serial=0A` : path, operation)];
  }),
);

function routeOf(method: string, path: string, { kind, rights, body, answers = {} }: Described): Route {
  const [status = kind === 'write' ? '202' : '200'] = Object.keys(answers);
  // Of a route with two, the second is that of stack instances.
  const [right] = rights ?? [];
  return {
    method,
    path,
    body: BODIES[body ?? ''] ?? {},
    status: Number(status),
    right,
    roles: right === undefined ? ALL_ROLES : rolesWith([right]),
    isEndless: kind === 'stream',
  };
}

type Stack = Router['stack'];

/** Returns `METHOD /path` for every route of the application, sorted. */
export function routesOfApplication(): string[] {
  const router = createRoutes(
    {
      ...createSampleParts(),
      clock: systemClock,
      log: createLog('silent'),
      ambiguityOf: () => undefined,
    },
    new AnswerCache(() => ''),
  );
  return [...new Set(routesIn(router.stack))].sort();
}

/** Returns `METHOD /path` for every handler of the application that is not for all methods. */
function routesIn(stack: Stack): string[] {
  return stack.flatMap((layer) => {
    const { route, handle } = layer;
    if (route !== undefined) {
      return route.stack
        .filter(({ method }) => typeof method === 'string')
        .map(({ method }) => `${method.toUpperCase()} ${route.path}`);
    }
    return 'stack' in handle ? routesIn(handle.stack as Stack) : [];
  });
}
