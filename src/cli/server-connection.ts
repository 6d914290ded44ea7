// Connects to a running controller: finds its address and the client certificate, and sends requests.
import { type Command, Option } from 'commander';
import type { ProxyTlsFiles } from '../agents/load-proxy-settings.ts';
import { sendToController } from '../base/controller-request.ts';
import { BrokenAnswer } from '../base/http-request.ts';
import { CommandFailure } from './command-failure.ts';
import { describeConnectionFailure, readCredentials } from './connection-failure.ts';
import { findDemo } from './demo/settings-file.ts';
import { fromUserDirectory } from './user-directory.ts';

const ANSWER_BYTES_MAX = 256 * 1024 * 1024;
/** The time limit of the server's silence, from the start of the request. A slow answer is allowed. */
const TIMEOUT_MS = 60_000;

/** The options of the command line. Files are read at each request. */
export interface ServerOptions extends ProxyTlsFiles {
  readonly server: string;
}

/** The message for an empty argument. */
export const EMPTY_ARGUMENT = 'an argument is empty, probably because of an unset shell variable';

/**
 * Adds the options for the server and the certificate; each may come from the environment. Without any of them, the
 * command connects to the demo of the user's folder or of a folder above, as its administrator.
 */
export function addServerOptions(command: Command): Command {
  return addOptionalServerOptions(command).hook('preAction', async (_, action) => {
    if (action.args.includes('')) throw new CommandFailure(EMPTY_ARGUMENT);
    const server = await serverIn(action.opts());
    if (server === undefined) throw incomplete(action.opts());
    for (const name of SERVER_OPTIONS) action.setOptionValue(name, server[name]);
  });
}

const SERVER_OPTIONS = ['server', 'cert', 'key', 'ca'] as const satisfies readonly (keyof ServerOptions)[];

function incomplete(options: Partial<ServerOptions>): CommandFailure {
  const missing = SERVER_OPTIONS.filter((name) => options[name] === undefined);
  const names = missing.map((name) => `--${name}`).join(', ');
  const variables = missing.map((name) => `TREELINE_${name.toUpperCase()}`).join(', ');
  const advice =
    missing.length < SERVER_OPTIONS.length
      ? 'all four are needed, or none in the folder of a demo'
      : 'no demo was found in this folder or above';
  return new CommandFailure(`say which controller, and who asks: ${names} (or ${variables}); ${advice}`);
}

/** Adds the same options to a command that does not need a server. */
export function addOptionalServerOptions(command: Command): Command {
  for (const option of serverOptions()) command.addOption(option);
  return command;
}

/**
 * Resolves with the options if the user named a server, otherwise with those of the demo; undefined if there is
 * neither. Throws CommandFailure if a server is named but other options are missing.
 */
export async function serverIn(options: Partial<ServerOptions>): Promise<ServerOptions | undefined> {
  const { server, cert, key, ca } = options;
  if (SERVER_OPTIONS.every((name) => options[name] === undefined)) return await findDemo(fromUserDirectory('.'));
  if (server === undefined) return undefined;
  if (cert !== undefined && key !== undefined && ca !== undefined) return { server, cert, key, ca };
  throw incomplete(options);
}

function serverOptions(): Option[] {
  // An empty variable counts as unset. An empty option is an error.
  for (const name of SERVER_OPTIONS) {
    const variable = `TREELINE_${name.toUpperCase()}`;
    if (process.env[variable] === '') delete process.env[variable];
  }
  return [
    new Option('--server <url>', 'the REST interface, such as https://treeline.example:8443').env('TREELINE_SERVER'),
    new Option('--cert <file>', "the client's certificate, PEM").env('TREELINE_CERT'),
    new Option('--key <file>', "the client's private key, PEM").env('TREELINE_KEY'),
    new Option('--ca <file>', "the authority that signed the server's certificate, PEM").env('TREELINE_CA'),
  ];
}

/** The server answered with an error; the message contains the server's message. */
export class RefusedRequest extends CommandFailure {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** Returns true for a temporary error: the controller is starting, or not ready. */
export function mayPass(error: unknown): error is CommandFailure {
  if (error instanceof RefusedRequest) return error.status === 503;
  const { cause } = error instanceof CommandFailure ? error : {};
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED';
}

/** Resolves with the body of a read. Throws RefusedRequest with the server's message, or CommandFailure. */
export function getFrom(server: ServerOptions, path: string, more: Omit<Sent, 'path'> = {}): Promise<unknown> {
  return sendTo(server, { path, ...more });
}

/** One message of a stream of server-sent events. */
interface StreamMessage {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

/**
 * Calls `onMessage` with each message until the stream ends. Throws like {@link getFrom}, also after a long silence.
 */
export async function streamFrom(
  server: ServerOptions,
  path: string,
  onMessage: (message: StreamMessage) => void,
): Promise<void> {
  let rest = '';
  const onText = (text: string): void => {
    const blocks = `${rest}${text}`.split('\n\n');
    rest = blocks.pop() ?? '';
    if (rest.length > MESSAGE_LENGTH_MAX) throw new CommandFailure(`${path} has a message that is too long`);
    for (const block of blocks) {
      const lines = block.split('\n').map((line) => line.split(/: ?(.*)/s, 2));
      onMessage({ id: '', event: '', data: '', ...Object.fromEntries(lines) });
    }
  };
  await sendTo(server, { path, timeoutMs: STREAM_SILENCE_MS, onText });
}

const MESSAGE_LENGTH_MAX = 1024 * 1024;
/** The server sends a comment every 15 s. */
const STREAM_SILENCE_MS = 45_000;

interface Sent {
  readonly onText?: (text: string) => void;
  readonly path: string;
  readonly method?: 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly timeoutMs?: number;
}

/** Sends a request and returns the body of the answer. Throws like {@link getFrom}. */
export async function sendTo(options: ServerOptions, sending: Sent): Promise<unknown> {
  const { path, method, headers, onText, timeoutMs = TIMEOUT_MS } = sending;
  const body = sending.body === undefined ? undefined : JSON.stringify(sending.body);
  const url = addressOf(options.server, path);
  const tls = await readCredentials(options);
  const limits = { silenceMs: timeoutMs, bytesMax: ANSWER_BYTES_MAX };
  const answer = await sendToController({ url, tls, method, body, headers, limits, onText }).catch((error: Error) => {
    const message =
      error instanceof BrokenAnswer
        ? `the answer of ${url.origin} broke off (${error.message}): try again`
        : `${url.origin} cannot be asked: ${describeConnectionFailure(error, options)}`;
    throw new CommandFailure(message, { cause: error });
  });
  if (answer.body !== undefined || (onText !== undefined && answer.status === 200)) return answer.body;
  throw new RefusedRequest(`${url.pathname} answered ${answer.status}: ${answer.message}`, answer.status);
}

function addressOf(server: string, path: string): URL {
  if (!URL.canParse(server) || new URL(server).protocol !== 'https:') {
    throw new CommandFailure(`--server has to be an https:// address, not "${server}"`);
  }
  // The address may have a path, for example behind a reverse proxy.
  return new URL(`${server.replace(/\/+$/, '')}${path}`);
}
