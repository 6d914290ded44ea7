// Serves health checks and metrics over plain HTTP: liveness, readiness, whether this process leads, and /metrics for
// Prometheus. It knows nothing about stacks. `GET /` answers with the address of the page.
import type { RequestListener } from 'node:http';
import express, { type NextFunction, type Request, type Response } from 'express';
import { type Clock, within } from '../base/clock.ts';
import { closeAtOnce, createPlainServer, type ListenAddress, type Listening, listenOn } from '../base/listen.ts';
import { reasonOf } from '../base/wording.ts';
import { ServiceError } from '../model/service-error.ts';
import { PAGE, pageWords } from '../page/serve-page.ts';
import { isForPage, isLoopbackName } from './dashboard.ts';
import { sendError } from './errors.ts';
import { sendEnvelope } from './present.ts';
import { routerOf } from './routes/route-table.ts';

/** The sources of health checks and metrics. */
interface HealthSources {
  /** True when reads are served from a good commit, else the reason why not, for an operator. */
  readonly ready: () => true | string;
  /** True while this process leads, else the reason why not, for an operator. */
  readonly leads: () => true | string;
  /** Resolves with all metrics in Prometheus' text format. */
  readonly metrics: () => Promise<string>;
  readonly clock: Clock;
  /** Answers requests for the page, or throws ServiceError. Omitted: the page is not served here. */
  readonly dashboard?: RequestListener | undefined;
}

/** Prometheus gives up after 10 s by default. */
const METRICS_MS_MAX = 8_000;
/**
 * A request over loopback may come from a browser of this machine that shows a page of an attacker (DNS rebinding), so
 * its Host header is checked. Over a network, Prometheus may use any name, and every host that reaches the listener
 * may read.
 */
const LOOPBACK = /^(?:::1$|(?:::ffff:)?127\.)/;
const PATHS = '/livez, /readyz, /leaderz and /metrics';
const OTHERS = `Health and metrics are at ${PATHS}`;
const FOREIGN = 'On this machine, use localhost, 127.0.0.1 or [::1]: other names could belong to another site';

/** Returns the management listener, which accepts connections. Throws if the address is in use. */
export async function createManagement({ host, port, ...health }: ListenAddress & HealthSources): Promise<Listening> {
  const server = createPlainServer(createHealthApp(health));
  const address = await listenOn(server, { host, port }, 'management.port');
  return { host: address.address, port: address.port, close: () => closeAtOnce(server) };
}

function createHealthApp({ ready, leads, metrics, clock, dashboard }: HealthSources): RequestListener {
  const where = dashboard === undefined ? `${OTHERS}. ${pageWords(null)}` : `The page is at ${PAGE}. ${OTHERS}`;
  const health = (stateOf: () => true | string) => (_request: unknown, response: Response) => {
    const state = stateOf();
    sendEnvelope(response, state === true ? 200 : 503, state === true ? 'ok' : state);
  };
  const made = oneAtATime(metrics);
  const app = express().disable('x-powered-by').disable('etag');
  app.use((request, response, next) => {
    if (dashboard !== undefined && isForPage(request)) return dashboard(request, response);
    response.setHeader('Cache-Control', 'no-store');
    next();
  });
  const routes = routerOf({
    '/': { GET: (_request, response) => sendEnvelope(response, 200, where) },
    '/livez': { GET: health(() => true) },
    '/readyz': { GET: health(ready) },
    '/leaderz': { GET: health(leads) },
    '/metrics': {
      GET: (request, response) => sendMetrics(request, response, () => within(clock, METRICS_MS_MAX, made())),
    },
  });
  app.use(routes, (_request: Request, response: Response) => {
    sendError(response, { code: 'not_found', message: `There is only ${PATHS} here` });
  });
  // Express knows an error handler by its four parameters.
  app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    const message = `The metrics cannot be collected: ${reasonOf(error)}`;
    sendError(response, error instanceof ServiceError ? error : { code: 'internal', message });
  });
  return app;
}

/** Requests that arrive while metrics are being collected share one result. */
function oneAtATime(make: HealthSources['metrics']): HealthSources['metrics'] {
  let making: Promise<string> | undefined;
  return () => {
    making ??= make().finally(() => {
      making = undefined;
    });
    return making;
  };
}

async function sendMetrics(
  { headers: { host = '' }, socket: { localAddress = '' } }: Pick<Request, 'headers' | 'socket'>,
  response: Response,
  make: () => Promise<string | undefined>,
): Promise<void> {
  if (LOOPBACK.test(localAddress) && !isLoopbackName(host)) throw new ServiceError('not_allowed', FOREIGN);
  const text = await make();
  if (text === undefined) {
    throw new ServiceError('not_ready', `The metrics were not collected within ${METRICS_MS_MAX / 1000} s`);
  }
  response.setHeader('Content-Type', 'text/plain; version=0.0.4; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text);
}
