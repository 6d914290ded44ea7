// Serves a listener over plain HTTP for the push hooks of Git servers. A hook with a valid secret makes the follower
// poll; its content is not read. See docs/operations.md, webhooks.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../clock.ts';
import { closeAtOnce, createPlainServer, type ListenAddress, type Listening, listenOn } from '../../listen.ts';
import type { Logger } from '../../log.ts';
import { type LogThrottle, throttleLog } from '../../log-throttle.ts';
import { ServiceError } from '../../model/service-error.ts';
import { endBrokenRequest } from '../broken-request.ts';
import { sendError } from '../errors.ts';
import { sendEnvelope } from '../present.ts';
import { readSecretFile, SecretFileError } from './secret-file.ts';
import { isGenuine } from './signature.ts';
import { throttle } from './throttle.ts';

interface WebhookOptions extends ListenAddress {
  /** A path. Read again for each hook. */
  readonly secretFile: string;
  /** Called at most once a second. */
  readonly poll: () => void;
  readonly clock: Clock;
  readonly log: Logger;
}

const BODY_BYTES_MAX = 256 * 1024;
const POLL_PAUSE_MS = 1_000;

/** Returns the listener, which answers from now on. Throws SecretFileError; also where the address is taken. */
export async function createWebhook(options: WebhookOptions): Promise<Listening> {
  // Told at the start, and not by the first hook.
  await readSecretFile(options.secretFile);
  const polls = throttle(options.poll, { clock: options.clock, pauseMs: POLL_PAUSE_MS });
  const refusals = throttleLog(options.clock, (count) => options.log.warn({ count }, 'more hooks were refused'));
  // This header has no use here, and Node's own answer is no JSON.
  const server = createPlainServer({ requireHostHeader: false });
  serveHooks(server, { ...options, refusals }, () => polls.ask());
  const { address, port } = await listenOn(server, options, 'webhook.port');
  return {
    host: address,
    port,
    async close() {
      polls.stop();
      refusals.stop();
      await closeAtOnce(server);
    },
  };
}

interface Hooks extends WebhookOptions {
  readonly refusals: LogThrottle;
}

function serveHooks(server: Server, options: Hooks, accepted: () => void): void {
  const answering = new Set<ServerResponse>();
  const last = new WeakMap<Duplex, ServerResponse>();
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    answering.add(response);
    last.set(request.socket, response);
    response.once('close', () => answering.delete(response));
    try {
      checkRoute(request, response);
      await checkHook(request, options);
      accepted();
      sendEnvelope(response, 202, 'The repository is looked at');
    } catch (error) {
      if (error instanceof ServiceError) sendError(response, error);
      // The client has gone away, or stopped in the middle.
      else response.destroy();
    }
  }
  // Node answers an unknown Expect by itself, and not in JSON, unless this event is handled.
  server.on('request', serve);
  server.on('checkExpectation', serve);
  server.on('clientError', (error, socket) => {
    const answers = [...answering].filter(({ req }) => req.socket === socket);
    const retire = (): void => void socket.destroy();
    endBrokenRequest(error, socket, { answers, last: last.get(socket), retire });
  });
}

function checkRoute({ method, url = '/' }: IncomingMessage, response: ServerResponse): void {
  const [path] = url.split('?', 1);
  if (path !== '/webhook' && path !== '/webhook/') {
    throw new ServiceError('not_found', 'There is only POST /webhook here');
  }
  if (method === 'POST') return;
  response.setHeader('Allow', 'POST');
  throw new ServiceError('method_not_allowed', 'Only POST is possible here');
}

/** Resolves where the hook is genuine. Throws ServiceError where it is not, and Node's error where it never arrived. */
async function checkHook(request: IncomingMessage, { secretFile, log, refusals }: Hooks): Promise<void> {
  const { remoteAddress: remote } = request.socket;
  const body = await readBody(request);
  if (body === undefined) {
    refusals.log(() => log.warn({ remote, reason: 'too large' }, 'hook refused'));
    throw new ServiceError('body_too_large', `The body of a hook may have ${BODY_BYTES_MAX} bytes`);
  }
  if (isGenuine(request.headers, body, await secretIn({ secretFile, log, refusals }))) return;
  refusals.log(() => log.warn({ remote, reason: 'no right signature or token' }, 'hook refused'));
  const message = 'No signature or token of this request is right: the hook needs the secret of webhook.secretFile';
  throw new ServiceError('unauthorized', message);
}

async function secretIn({
  secretFile,
  log,
  refusals,
}: Pick<Hooks, 'secretFile' | 'log' | 'refusals'>): Promise<Buffer> {
  try {
    return await readSecretFile(secretFile);
  } catch (error) {
    if (!(error instanceof SecretFileError)) throw error;
    refusals.log(() => log.error({ err: error }, 'no hook can be checked'));
    throw new ServiceError('not_ready', 'The hook cannot be checked; the log of Treeline says why');
  }
}

/** Returns the body, undefined where it is too large: the rest of it is then read and forgotten. Throws where it breaks off. */
function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | undefined>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  if (Number(request.headers['content-length'] ?? 0) > BODY_BYTES_MAX) resolve(undefined);
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) resolve(undefined);
    else chunks.push(chunk);
  });
  request.on('end', () => resolve(Buffer.concat(chunks)));
  request.on('error', reject);
  request.on('close', () => reject(new Error('the request broke off')));
  return promise;
}
