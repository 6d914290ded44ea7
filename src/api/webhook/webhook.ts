// Serves a listener over plain HTTP for the push hooks of Git servers. A hook with a valid secret makes the follower
// poll; its content is not read. See docs/install.md, webhooks.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import { closeAtOnce, createPlainServer, type ListenAddress, type Listening, listenOn } from '../../base/listen.ts';
import type { Logger } from '../../base/log.ts';
import { type LogOnceAMinute, logOnceAMinute } from '../../base/log-once-a-minute.ts';
import { readSecretFile, SecretFileError } from '../../base/secrets.ts';
import { ServiceError } from '../../model/service-error.ts';
import { sendError } from '../errors.ts';
import { sendEnvelope } from '../present.ts';
import { checkSignature } from './signature.ts';

interface WebhookOptions extends ListenAddress {
  /** The path of the secret's file, which is read again for each hook. */
  readonly secretFile: string;
  /** Requests a poll. Several requests during a poll cause one further poll. */
  readonly poll: () => void;
  readonly clock: Clock;
  readonly log: Logger;
}

const MIB = 1024 * 1024;
/** GitHub's maximum. */
const BODY_BYTES_MAX = 25 * MIB;
const SETTING = 'webhook.secretFile';

/** Returns the listener, which accepts connections. Throws SecretFileError, or an error if the address is in use. */
export async function createWebhook(options: WebhookOptions): Promise<Listening> {
  // Fail at the start, not at the first hook.
  await readSecretFile(options.secretFile, SETTING);
  const server = createPlainServer(serveHooks({ ...options, logOnce: logOnceAMinute(options.clock) }));
  const { address, port } = await listenOn(server, options, 'webhook.port');
  return { host: address, port, close: () => closeAtOnce(server) };
}

interface Hooks extends WebhookOptions {
  readonly logOnce: LogOnceAMinute;
}

function serveHooks(options: Hooks) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      checkRoute(request, response);
      await checkHook(request, options);
      options.poll();
      sendEnvelope(response, 202, 'The repository will be polled');
    } catch (error) {
      if (error instanceof ServiceError) sendError(response, error);
      // The client disconnected, or stopped sending.
      else response.destroy();
    }
  };
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

/** Resolves if the hook is genuine. Throws ServiceError if it is not, and Node's error if it did not arrive. */
async function checkHook(request: IncomingMessage, { secretFile, clock, log, logOnce }: Hooks): Promise<void> {
  const { remoteAddress: remote } = request.socket;
  const refused = (reason: string): void => {
    const repeats = logOnce(`${reason} ${remote}`);
    if (repeats) log.warn({ remote, reason, ...repeats }, 'hook refused');
  };
  const check = checkSignature(request.headers, await secretIn({ secretFile, log, logOnce }), clock.now());
  if (!(await readBody(request, check.update))) {
    refused('too large');
    throw new ServiceError('body_too_large', `The body of a hook may have at most ${BODY_BYTES_MAX / MIB} MiB`);
  }
  if (check.isGenuine()) return;
  refused('no valid signature or token');
  const message = 'This request has no valid signature or token: the hook needs the secret of webhook.secretFile';
  throw new ServiceError('unauthorized', message);
}

async function secretIn({ secretFile, log, logOnce }: Pick<Hooks, 'secretFile' | 'log' | 'logOnce'>): Promise<Buffer> {
  try {
    return await readSecretFile(secretFile, SETTING);
  } catch (error) {
    if (!(error instanceof SecretFileError)) throw error;
    const repeats = logOnce(error);
    if (repeats) log.error({ err: error, ...repeats }, 'hooks cannot be checked');
    throw new ServiceError('not_ready', 'The hook cannot be checked; the log of Treeline says why');
  }
}

/**
 * Passes the arriving body to `take`. Resolves with false if it is too large: then the rest is read and dropped. Throws
 * if the connection breaks.
 */
async function readBody(request: IncomingMessage, take: (bytes: Uint8Array) => void): Promise<boolean> {
  let bytes = 0;
  let isTooLarge = Number(request.headers['content-length'] ?? 0) > BODY_BYTES_MAX;
  // The connection has to outlive a body that is refused.
  const body = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  if (!isTooLarge) {
    for await (const piece of body) {
      bytes += piece.length;
      isTooLarge = bytes > BODY_BYTES_MAX;
      if (isTooLarge) break;
      take(piece);
    }
  }
  request.resume();
  return !isTooLarge;
}
