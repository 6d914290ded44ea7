// The process of one local server: serves its configuration on a loopback port as a page and as JSON.
// server-process.mjs starts it with the server's process lock as file descriptor 3, which stays open until it ends.
import { createServer } from 'node:http';
import { CallFailure } from '../exec-call/call-failure.mjs';
import { identityOf } from '../exec-call/process-identity.mjs';
import { logProcess } from './call-log.mjs';
import { followConfiguration, sourceOfConfiguration } from './follow-configuration.mjs';
import { renderPage } from './page.mjs';
import { ServerFiles } from './server-files.mjs';

/**
 * @typedef {import('./server-files.mjs').Properties} Properties
 * @typedef {import('./follow-configuration.mjs').Configuration} Configuration
 * @typedef {{ readonly name: string, readonly since: Date, properties: Properties, configuration: Configuration }} Served
 */

const WATCH_MS = 2_000;
const HOST = '127.0.0.1';
/** The host names that browsers on this machine use. Refusing all others prevents DNS rebinding by a foreign page. */
const OWN_HOST = /^(127\.0\.0\.1|localhost)(:\d+)?$/i;
const HEADERS = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };
const NOT_OWN = { message: `only requests to ${HOST} or localhost are answered` };
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'";

/**
 * Runs the server until a signal ends it.
 * @param {readonly string[]} args the server's name
 */
export async function runServer([name]) {
  if (name === undefined) throw new CallFailure('failed', 'run needs the name of a server');
  const files = new ServerFiles(name);
  const wanted = files.wanted();
  const identity = identityOf(process.pid);
  if (wanted === undefined || identity === undefined) throw new CallFailure('failed', `there is no server ${name}`);
  /** @type {Served} */
  const served = { name, since: new Date(), properties: wanted.properties, configuration: files.configuration() };
  logProcess('started', name);
  process.once('SIGTERM', () => {
    logProcess('ended', name);
    process.exit(0);
  });
  const port = await listen(served, files.running()?.port ?? 0);
  const applyWanted = () => {
    const { generation, properties } = files.wanted() ?? wanted;
    served.properties = properties;
    files.noteRunning({ process: identity, port, generation, properties, source: sourceOfConfiguration() });
  };
  process.on('SIGHUP', applyWanted);
  applyWanted();
  setInterval(() => endIfOrphaned(files, identity), WATCH_MS);
  await followConfiguration(name, served.configuration, (configuration) => {
    if (configuration.record !== served.configuration.record) files.keepConfiguration(configuration);
    served.configuration = configuration;
  });
}

/**
 * Ends this process if its folder is gone or names another process: no call can find it any more.
 * @param {ServerFiles} files
 * @param {import('../exec-call/process-identity.mjs').ProcessIdentity} identity
 */
function endIfOrphaned(files, identity) {
  const known = files.running()?.process;
  if (known?.pid !== identity.pid || known.start !== identity.start) process.exit(0);
}

/**
 * Listens on the previous port, or on a free one if that port is taken. Returns the port.
 * @param {Served} served
 * @param {number} port
 * @returns {Promise<number>}
 */
function listen(served, port) {
  const server = createServer((request, response) => {
    const isOwn = OWN_HOST.test(request.headers.host ?? '');
    const answer = isOwn ? answerTo(request.method ?? '', request.url ?? '', served) : json(421, NOT_OWN);
    response.writeHead(answer.status, { ...HEADERS, ...answer.headers });
    response.end(request.method === 'HEAD' ? undefined : answer.body);
  });
  return new Promise((resolve, reject) => {
    server.on('error', (error) => {
      if ('code' in error && error.code === 'EADDRINUSE' && port !== 0) resolve(listen(served, 0));
      else reject(error);
    });
    server.listen(port, HOST, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

/**
 * @param {string} method
 * @param {string} path
 * @param {Served} served
 */
function answerTo(method, path, served) {
  if (method !== 'GET' && method !== 'HEAD') return json(405, { message: 'only GET and HEAD' });
  if (path === '/') {
    const headers = { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': PAGE_POLICY };
    return { status: 200, headers, body: renderPage(served) };
  }
  if (path === '/config.json') return json(200, configurationOf(served));
  if (path === '/properties.json') return json(200, served.properties);
  return json(404, { message: 'the paths are /, /config.json and /properties.json' });
}

/** @param {Served} served */
function configurationOf({ configuration: { record = {} } }) {
  return Object.fromEntries(Object.entries(record).map(([key, { value }]) => [key, value]));
}

/**
 * @param {number} status
 * @param {unknown} value
 */
function json(status, value) {
  const headers = { 'Content-Type': 'application/json; charset=utf-8' };
  return { status, headers, body: `${JSON.stringify(value, null, 2)}\n` };
}
