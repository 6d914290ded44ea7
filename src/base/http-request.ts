// Sends one HTTP request with the proxy that the environment names, and reads the head of the answer. Follows no redirects
// and keeps no connection. Also reads the files that settings name, and hides secrets in messages.
import { readFile, stat } from 'node:fs/promises';
import http, { type IncomingHttpHeaders } from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { reasonOf } from './wording.ts';

interface HttpOrder {
  readonly target: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** PEM; undefined: the authorities that Node trusts. */
  readonly ca: string | undefined;
  readonly signal: AbortSignal;
}

/** The head of an HTTP answer. */
export interface HttpHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

const PROXY_VARIABLES = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY'];
const HIDDEN = '***';
/** Hiding shorter secrets would make messages unreadable, and protect nothing. */
const SECRET_LENGTH_MIN = 3;

/** Returns the head of the answer; its body is not read. Throws Node's own error, or the reason of the signal. */
export async function requestHead(order: HttpOrder): Promise<HttpHead> {
  const { target, method, headers, body, signal } = order;
  signal.throwIfAborted();
  const agent = agentFor(order);
  // While a proxy opens a tunnel, Node's agent does not know the socket to the proxy.
  const sockets = new Set<Duplex>();
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => {
    const socket = connect(options, callback);
    if (socket) sockets.add(socket);
    return socket;
  };
  const { promise, resolve, reject } = Promise.withResolvers<HttpHead>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    const { request } = target.protocol === 'https:' ? https : http;
    const length = { 'content-length': String(Buffer.byteLength(body)) };
    const outgoing = request(target, { method, headers: { ...headers, ...length }, agent });
    outgoing.on('response', ({ statusCode = 0, headers: answered }) =>
      resolve({ status: statusCode, headers: answered }),
    );
    outgoing.on('error', reject);
    outgoing.end(body);
    return await promise;
  } finally {
    signal.removeEventListener('abort', abort);
    for (const socket of sockets) socket.destroy();
    agent.destroy();
  }
}

function agentFor({ target: { protocol, hostname }, ca }: HttpOrder): http.Agent {
  const proxyEnv = process.env;
  if (protocol === 'https:')
    return new https.Agent({ proxyEnv, rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }) });
  // A proxy would see the secret, which may be sent unencrypted to this machine itself.
  return isLoopback(hostname) ? new http.Agent() : new http.Agent({ proxyEnv });
}

/** Returns true for names and addresses of this machine. */
export function isLoopback(hostname: string): boolean {
  if (hostname === 'localhost' || hostname === '[::1]') return true;
  return isIP(hostname) === 4 && hostname.startsWith('127.');
}

/** Returns the text of a file that a setting names. Throws an error that names the setting. */
export async function readText(path: string, setting: string, bytesMax: number): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size > bytesMax) throw new Error(`it has ${size} bytes, and ${bytesMax} are allowed`);
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new Error(`${setting} cannot be read: ${reasonOf(error)}`, { cause: error });
  }
}

/** Returns the passwords in the URLs of the proxies that the environment names. */
export function proxySecrets(): readonly string[] {
  return PROXY_VARIABLES.flatMap((name) => [name, name.toLowerCase()]).flatMap((name) => {
    const url = URL.parse(process.env[name] ?? '');
    return url === null || url.password === '' ? [] : [url.password, decodePercent(url.password)];
  });
}

/** A single percent sign is literal. */
function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns a text with `***` in place of the secrets, also in their Base64 and percent-encoded forms. */
export function hideSecrets(text: string, secrets: readonly string[]): string {
  const forms = secrets.flatMap((secret) => {
    const base64 = Buffer.from(secret).toString('base64');
    return [secret, encodeURIComponent(secret), base64, base64.replace(/=+$/, ''), encodeURIComponent(base64)];
  });
  const longestFirst = [...new Set(forms)].filter(({ length }) => length >= SECRET_LENGTH_MIN);
  longestFirst.sort((a, b) => b.length - a.length);
  if (longestFirst.length === 0) return text;
  return text.replace(new RegExp(longestFirst.map(RegExp.escape).join('|'), 'gi'), HIDDEN);
}
