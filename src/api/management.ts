// Serves health checks and metrics over plain HTTP: liveness, readiness, whether this process leads, and /metrics for
// Prometheus. It knows nothing about stacks. `GET /` says where the page is.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type Clock, within } from '../base/clock.ts';
import { closeAtOnce, createPlainServer, type ListenAddress, type Listening, listenOn } from '../base/listen.ts';
import { reasonOf } from '../base/wording.ts';
import { PAGE, pageWords } from '../page/serve-page.ts';
import { isForPage, isLoopbackName } from './dashboard.ts';

/** What is asked. */
interface HealthSources {
  /** True once reads are served from a good commit, else why not, for an operator. */
  readonly ready: () => true | string;
  /** True while this process leads, else why not, for an operator. Decided at the moment of the answer. */
  readonly leads: () => true | string;
  /** Resolves with all metrics in Prometheus' text format. */
  readonly metrics: () => Promise<string>;
  readonly clock: Clock;
  /** Answers requests for the page. Omitted: it is not served here. */
  readonly dashboard?: RequestListener | undefined;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** Prometheus gives up after 10 s by default. */
const METRICS_MS_MAX = 8_000;
/**
 * What comes over loopback may come from a browser of this machine, whose page somebody else has pointed here by a name
 * of his own. Over a network Prometheus asks by any name, and who reaches the listener may read it.
 */
const LOOPBACK = /^(?:::1$|(?:::ffff:)?127\.)/;
const PATHS = '/livez, /readyz, /leaderz and /metrics';
const OTHERS = `Health and metrics are at ${PATHS}`;
const FOREIGN =
  'On this machine, ask for the metrics as localhost, 127.0.0.1 or [::1]: other names may be of a stranger';

/** Returns the management listener, which answers from now on. Throws where the address is taken. */
export async function createManagement({ host, port, ...health }: ListenAddress & HealthSources): Promise<Listening> {
  const answer = answerTo({ ...health, metrics: oneAtATime(health.metrics) });
  const { dashboard } = health;
  const server = createPlainServer(async (request, response) => {
    if (dashboard !== undefined && isForPage(request)) dashboard(request, response);
    else send(response, await answer(request));
  });
  const address = await listenOn(server, { host, port }, 'management.port');
  return { host: address.address, port: address.port, close: () => closeAtOnce(server) };
}

/** All who ask while metrics are being made get the same ones. */
function oneAtATime(make: HealthSources['metrics']): HealthSources['metrics'] {
  let making: Promise<string> | undefined;
  return () => {
    making ??= make().finally(() => {
      making = undefined;
    });
    return making;
  };
}

function answerTo({
  ready,
  leads,
  metrics,
  clock,
  dashboard,
}: HealthSources): (request: IncomingMessage) => Promise<Answer> {
  const answers = new Map<string, () => Answer | Promise<Answer>>([
    [
      '/',
      () =>
        envelope(200, dashboard === undefined ? `${OTHERS}. ${pageWords(null)}` : `The page is at ${PAGE}. ${OTHERS}`),
    ],
    ['/livez', () => healthAnswer(true)],
    ['/readyz', () => healthAnswer(ready())],
    ['/leaderz', () => healthAnswer(leads())],
    ['/metrics', () => answerMetrics(metrics, clock)],
  ]);
  return async ({ method, url = '/', headers: { host = '' }, socket: { localAddress = '' } }) => {
    const path = url.split('?', 1)[0] ?? '';
    const answer = answers.get(path);
    if (answer === undefined) return envelope(404, `There is only ${PATHS} here`);
    if (method !== 'GET' && method !== 'HEAD') return envelope(405, 'Only GET and HEAD are possible here');
    if (path === '/metrics' && LOOPBACK.test(localAddress) && !isLoopbackName(host)) return envelope(403, FOREIGN);
    return await answer();
  };
}

/** Never rejects. */
async function answerMetrics(metrics: HealthSources['metrics'], clock: Clock): Promise<Answer> {
  try {
    const body = await within(clock, METRICS_MS_MAX, metrics());
    if (body !== undefined) return { status: 200, type: 'text/plain; version=0.0.4; charset=utf-8', body };
    return envelope(503, `The metrics were not there within ${METRICS_MS_MAX / 1000} s`);
  } catch (error) {
    return envelope(500, `The metrics cannot be made: ${reasonOf(error)}`);
  }
}

function healthAnswer(state: true | string): Answer {
  return state === true ? envelope(200, 'ok') : envelope(503, state);
}

function envelope(status: number, message: string): Answer {
  const body = JSON.stringify({ message, return_code: status });
  return { status, type: 'application/json; charset=utf-8', body };
}

function send(response: ServerResponse, { status, type, body }: Answer): void {
  const bytes = Buffer.from(body);
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Length': bytes.length,
    'Cache-Control': 'no-store',
    ...(status === 405 ? { Allow: 'GET, HEAD' } : {}),
  });
  response.end(bytes);
}
