// Every route of the interface: what each role is answered, and how to ask. The routes are read from the application itself: a new
// one without a row fails in test/api/authorization-matrix.test.ts.
import type { Router } from 'express';
import { createRoutes } from '../../src/api/app.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createLog } from '../../src/base/log.ts';
import { answerIn } from '../../src/providers/answer-json.ts';
import { ACTION, createSampleAgent } from './sample-agent.ts';
import { createSampleExplainer } from './sample-explainer.ts';
import { createSampleOperator } from './sample-operator.ts';
import { createSampleReader } from './sample-reader.ts';
import { createSampleStreams } from './sample-streams.ts';
import { createSampleWriter } from './sample-writer.ts';

/** What the registered ones are answered, in the order above: administrator, automation endpoint, proxy. */
type Statuses = readonly [administrator: number, automationEndpoint: number, proxy: number];

/** One route. */
export interface Row {
  readonly statuses: Statuses;
  /** It tells of the estate as a whole: clients that see a part of it get 403. */
  readonly isOfWhole?: true;
  /** The client of that node may send it, though it writes nothing else. */
  readonly isOfNode?: true;
  /** The paths to ask, where the route has parameters. */
  readonly paths?: readonly string[];
  readonly body?: object;
  /** Its answer ends only with its client: it is asked by HEAD. */
  readonly isEndless?: true;
}

const READ: Statuses = [200, 200, 200];

/** By `METHOD /path`. */
export const ROUTES: Readonly<Record<string, Row>> = {
  'GET /stacks/instances': { statuses: READ },
  'GET /stacks/instances/:id': { statuses: READ, paths: ['/stacks/instances/shop'] },
  'POST /stacks/instances/:id': { statuses: [201, 201, 403], paths: ['/stacks/instances/shop'] },
  'DELETE /stacks/instances/:id': { statuses: [202, 202, 403], paths: ['/stacks/instances/shop'] },
  'GET /stacks/instances/:id/status': { statuses: READ, paths: ['/stacks/instances/shop/status'] },
  'GET /stacks/instances/:id/status/full': { statuses: READ, paths: ['/stacks/instances/shop/status/full'] },
  'GET /stacks/instances/:id/why': { statuses: READ, paths: ['/stacks/instances/shop/why'] },
  'GET /stacks/instances/:id/events': { statuses: READ, paths: ['/stacks/instances/shop/events'] },
  'GET /stacks/templates': { statuses: READ },
  'POST /stacks/templates': { statuses: [201, 201, 403] },
  'GET /stacks/templates/:id': { statuses: READ, paths: ['/stacks/templates/web'] },
  'GET /clients': { statuses: READ, paths: ['/clients', '/clients?role=proxy'] },
  'POST /clients': { statuses: [201, 403, 403] },
  'DELETE /clients': { statuses: [202, 403, 403], paths: ['/clients?serial=0A'] },
  // An own record is for everybody; this one is the administrator's.
  'GET /clients/:serial': { statuses: [200, 200, 403], paths: ['/clients/ADMINISTRATOR'] },
  'DELETE /clients/:serial': { statuses: [202, 403, 403], paths: ['/clients/0A', '/clients/ADMINISTRATOR'] },
  'GET /types': { statuses: READ },
  'GET /types/:type': { statuses: READ, paths: ['/types/zone', '/types/all', '/types/stack-instance'] },
  'POST /types/:type': {
    statuses: [201, 403, 403],
    paths: ['/types/zone', '/types/stack-template', '/types/clientcert'],
  },
  'GET /types/:type/:id': { statuses: READ, paths: ['/types/zone/z1', '/types/all/z1'] },
  'DELETE /types/:type/:id': { statuses: [200, 403, 403], paths: ['/types/zone/z1', '/types/stack-template/web'] },
  'GET /hiera/all': { statuses: READ, paths: ['/hiera/all', '/hiera/all?info=true', '/hiera/all?inventory=true'] },
  'GET /hiera/:clientcert': { statuses: READ, paths: ['/hiera/shop-web', '/hiera/shop-web?info=true'] },
  'POST /hiera/:clientcert/applied': {
    ...{ statuses: [403, 403, 200], paths: ['/hiera/shop-web/applied'], isOfNode: true },
    body: { digest: '"0123456789abcdefghijkl"', outcome: 'applied' },
  },
  'GET /hiera/:clientcert/:key': { statuses: READ, paths: ['/hiera/shop-web/zone'] },
  'GET /tree': { statuses: READ },
  'POST /tree': { statuses: [201, 403, 403] },
  'GET /operations/status': { statuses: READ },
  'GET /operations/servers': {
    statuses: READ,
    paths: ['/operations/servers', '/operations/servers?state=done&limit=5'],
  },
  'GET /operations/servers/:server': { statuses: READ, paths: ['/operations/servers/shop-web'] },
  'GET /operations/held': { statuses: READ },
  'GET /operations/recovery': { statuses: READ },
  'GET /operations/delivered': {
    statuses: READ,
    paths: ['/operations/delivered', `/operations/delivered?instance=shop&state=outdated&commit=${'c'.repeat(40)}`],
  },
  'GET /operations/recorded': { statuses: READ },
  'GET /operations/clients': { statuses: READ },
  'GET /operations/notifications': { statuses: [200, 200, 403], isOfWhole: true },
  'GET /operations/problems': { statuses: READ },
  'GET /operations/explain/:node{/:key}': {
    ...{ statuses: READ, paths: ['/operations/explain/shop-web', '/operations/explain/shop-web/zone'] },
  },
  'POST /operations/approve': { statuses: [200, 403, 403], body: { digest: 'beef' } },
  'POST /operations/accept-history': { statuses: [200, 403, 403], body: { commit: 'beef' } },
  'POST /operations/suspend': { statuses: [200, 403, 403] },
  'POST /operations/acknowledge': { statuses: [200, 403, 403], body: { instance: 'shop', end: true } },
  'POST /operations/resume': { statuses: [200, 403, 403] },
  'POST /operations/retry': { statuses: [200, 200, 403], body: { all: true } },
  'POST /operations/adopt': { statuses: [200, 403, 403], body: { all: true } },
  'POST /operations/retain': { statuses: [200, 403, 403], body: { resource: 'shop-web' } },
  'POST /operations/replace': { statuses: [200, 403, 403], body: { resource: 'shop-web' } },
  'GET /operations/events': { statuses: READ },
  // Its answer has no end.
  'GET /events': { statuses: READ, isEndless: true },
  'GET /agent/actions': { statuses: [403, 403, 200] },
  'POST /agent/actions/:id/claim': { statuses: [403, 403, 200], paths: [`/agent/actions/${ACTION.id}/claim`] },
  'POST /agent/actions/:id/heartbeat': {
    ...{ statuses: [403, 403, 200], paths: [`/agent/actions/${ACTION.id}/heartbeat`], body: { lease: 'secret' } },
  },
  'POST /agent/actions/:id/report': {
    ...{ statuses: [403, 403, 200], paths: [`/agent/actions/${ACTION.id}/report`] },
    body: { lease: 'secret', outcome: 'done' },
  },
  'GET /': { statuses: READ },
  'GET /openapi.json': { statuses: READ },
  'POST /operations/check': { statuses: [200, 403, 403], body: { instance: 'shop' } },
};

/** The same routes where the rights are those of another object than the row says. */
export const EXCEPTIONS: Readonly<Record<string, Row>> = {
  'POST /types/:type': { statuses: [201, 201, 403], paths: ['/types/stack-instance'] },
  'DELETE /types/:type/:id': { statuses: [202, 202, 403], paths: ['/types/stack-instance/shop'] },
};

type Stack = Router['stack'];

/** Returns the paths to ask of a route. */
export function pathsOf(route: string, { paths }: Row): readonly string[] {
  return paths ?? [route.slice(route.indexOf(' ') + 1)];
}

/** Returns `METHOD /path` for every route of the application, sorted. */
export function routesOfApplication(): string[] {
  const router = createRoutes({
    reader: createSampleReader(),
    operator: createSampleOperator(),
    explainer: createSampleExplainer(),
    agent: createSampleAgent(),
    readAnswer: answerIn,
    writer: createSampleWriter(),
    streams: createSampleStreams().streams,
    clock: systemClock,
    log: createLog('silent'),
    ambiguityOf: () => undefined,
  });
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
