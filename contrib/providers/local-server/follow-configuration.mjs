// Follows the record of one server over Treeline's REST interface. While Treeline is unreachable, the last record stays
// in use.
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { secondsSetting } from '../exec-call/environment.mjs';

/**
 * @typedef {string | number | boolean | readonly string[]} RecordValue
 * @typedef {{ readonly value: RecordValue, readonly type: string, readonly name: string }} Explained
 * @typedef {object} Configuration
 * @property {string} state for users: current, or since when and why it is not
 * @property {Readonly<Record<string, Explained>>} [record] undefined until the first read succeeds
 * @property {string} [etag]
 * @typedef {{ readonly status: number, readonly etag: string | undefined, readonly body: string }} Response
 */

const POLL_SECONDS = 2;
const ANSWER_MS = 10_000;
const BODY_BYTES_MAX = 4 * 1024 * 1024;
const CURRENT = 'current';
const NOT_MODIFIED = 304;

/** Returns the address of the REST interface; empty if LOCAL_SERVER_URL is not set. */
export function sourceOfConfiguration() {
  return process.env.LOCAL_SERVER_URL ?? '';
}

/**
 * Polls forever and reports every result. Returns immediately if LOCAL_SERVER_URL is not set.
 * @param {string} name
 * @param {Configuration} last
 * @param {(configuration: Configuration) => void} report
 */
export async function followConfiguration(name, last, report) {
  const url = sourceOfConfiguration();
  if (url === '') return report({ state: 'not asked for: LOCAL_SERVER_URL is not set' });
  const waitMs = secondsSetting('LOCAL_SERVER_POLL_SECONDS', POLL_SECONDS) * 1000;
  const address = new URL(`/hiera/${encodeURIComponent(name)}/?info=true`, url);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let configuration = last;
  for (;;) {
    configuration = await readAgain(configuration, address, agent);
    report(configuration);
    await sleep(waitMs);
  }
}

/**
 * @param {Configuration} last
 * @param {URL} address
 * @param {Agent} agent
 * @returns {Promise<Configuration>}
 */
async function readAgain(last, address, agent) {
  try {
    const { status, etag, body } = await get(address, agent, last.etag);
    if (status === NOT_MODIFIED) return { ...last, state: CURRENT };
    if (status !== 200) return outdated(last, `Treeline answered ${status}`);
    const record = JSON.parse(body);
    return etag === undefined ? { state: CURRENT, record } : { state: CURRENT, record, etag };
  } catch (error) {
    return outdated(last, error instanceof Error ? error.message : String(error));
  }
}

/**
 * @param {Configuration} last
 * @param {string} reason
 * @returns {Configuration}
 */
function outdated(last, reason) {
  const since = last.state === CURRENT ? new Date().toISOString() : last.state.match(/^since (\S+)/)?.[1];
  return { ...last, state: `since ${since ?? new Date().toISOString()} not read: ${reason}` };
}

/**
 * Reads the certificate's files for every request, because they may be renewed at any time.
 * @param {URL} address
 * @param {Agent} agent
 * @param {string | undefined} etag
 * @returns {Promise<Response>}
 */
function get(address, agent, etag) {
  const options = {
    agent,
    signal: AbortSignal.timeout(ANSWER_MS),
    headers: etag === undefined ? {} : { 'If-None-Match': etag },
    key: fileIn('LOCAL_SERVER_KEY'),
    cert: fileIn('LOCAL_SERVER_CERT'),
    ca: fileIn('LOCAL_SERVER_CA'),
  };
  return new Promise((resolve, reject) => {
    const pending = request(address, options, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (part) => {
        body += part;
        if (body.length > BODY_BYTES_MAX)
          pending.destroy(new Error(`the answer is longer than ${BODY_BYTES_MAX} bytes`));
      });
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, etag: response.headers.etag, body }));
    });
    pending.on('error', reject);
    pending.end();
  });
}

/** @param {string} setting */
function fileIn(setting) {
  const path = process.env[setting] ?? '';
  return path === '' ? undefined : readFileSync(path);
}
