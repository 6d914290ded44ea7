// Keeps the data of a view current: requests it after each event of the stream, and every few seconds without a stream. Tracks when the
// controller last answered. Stops while the page is hidden.
import { CONTROLLER } from './addresses.js';

/** @typedef {{ readonly body: any, readonly etag: string | null }} Known */
/** @typedef {{ readonly status: number, readonly message: string }} Failed */

/** With the stream, polling only finds changes without an event: passing times and outages. */
const POLL_MS = { withStream: 15_000, without: 5_000 };
/** Changes within this time are handled together. */
const GATHER_MS = 1_000;
/** The pause after slow answers, as a multiple of their duration. */
const REST_OF_ANSWER = 5;
const ANSWER_MS = 25_000;
/** The controller may answer before the effect of a commit is computed: then the page repeats the request. */
const SLOW = '/operations/commits/';
const RECONNECT_MS = { first: 1_000, max: 60_000 };
/** After this time without an answer, the page shows that its data is stale. */
const SILENT_MS = 20_000;

/** The data of the current view. */
export class Live {
  #api;
  #onChange;
  /** @type {Map<string, Known>} */
  #known = new Map();
  /** @type {Map<string, Failed>} */
  #failed = new Map();
  /** @type {readonly string[]} */
  #paths = [];
  #filter = '';
  /** @type {EventSource | undefined} */
  #stream;
  #isStreaming = false;
  #backoffMs = RECONNECT_MS.first;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #next;
  #nextAt = Number.POSITIVE_INFINITY;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #reconnect;
  #isAsking = false;
  #isAskedAgain = false;
  #tookMs = 0;
  #heard = 0;
  #skewMs = 0;
  /** Why the last request had no answer; empty if it had one. */
  #silence = '';

  /** @param {string} api The base path of the interface. @param {() => void} onChange */
  constructor(api, onChange) {
    this.#api = api;
    this.#onChange = onChange;
    document.addEventListener('visibilitychange', () => (document.hidden ? this.#rest() : this.#resume()));
    window.addEventListener('online', () => this.#soon(0));
  }

  /** Switches to other data. @param {readonly string[]} paths @param {string} filter The query of their event stream. */
  show(paths, filter) {
    const isNew = paths.some((path) => !this.#known.has(path) || !this.#paths.includes(path));
    this.#paths = paths;
    for (const path of this.#known.keys()) if (!paths.includes(path)) this.#known.delete(path);
    this.#failed.clear();
    if (filter !== this.#filter || this.#stream === undefined) this.#open(filter);
    if (isNew) this.#soon(0);
  }

  /** Returns the body of a path; undefined before its first answer. @param {string} path */
  body(path) {
    return this.#known.get(path)?.body;
  }

  /** Returns why a path has no answer. @param {string} path */
  failure(path) {
    return this.#failed.get(path);
  }

  /** The controller's time, milliseconds since 1970. */
  get now() {
    return Date.now() + this.#skewMs;
  }

  /** Whether the data is current. */
  get freshness() {
    const silentMs = Date.now() - this.#heard;
    const isCurrent = this.#heard > 0 && this.#silence === '' && silentMs < SILENT_MS;
    return { isCurrent, isStreaming: this.#isStreaming, heard: this.#heard, silentMs, reason: this.#silence };
  }

  /** @param {string} filter */
  #open(filter) {
    this.#close();
    this.#filter = filter;
    if (document.hidden) return;
    const stream = new EventSource(`${this.#api}/events${filter}`);
    this.#stream = stream;
    stream.onopen = () => {
      this.#isStreaming = true;
      this.#backoffMs = RECONNECT_MS.first;
      this.#soon(GATHER_MS);
    };
    for (const kind of ['instance', 'commit', 'gap', 'message'])
      stream.addEventListener(kind, () => this.#soon(GATHER_MS));
    stream.onerror = () => {
      this.#close();
      this.#soon(GATHER_MS);
      this.#reconnect = setTimeout(() => this.#open(this.#filter), this.#backoffMs * (0.5 + Math.random()));
      this.#backoffMs = Math.min(2 * this.#backoffMs, RECONNECT_MS.max);
    };
  }

  #close() {
    clearTimeout(this.#reconnect);
    this.#stream?.close();
    this.#stream = undefined;
    this.#isStreaming = false;
  }

  #rest() {
    this.#close();
    clearTimeout(this.#next);
    this.#nextAt = Number.POSITIVE_INFINITY;
  }

  #resume() {
    this.#open(this.#filter);
    this.#soon(0);
  }

  /** Requests the data after `ms`, or earlier if a request is planned earlier. @param {number} ms */
  #soon(ms) {
    if (document.hidden) return;
    if (this.#isAsking) {
      this.#isAskedAgain = true;
      return;
    }
    const at = Date.now() + (ms === 0 ? 0 : Math.max(ms, this.#tookMs * REST_OF_ANSWER));
    if (at >= this.#nextAt) return;
    clearTimeout(this.#next);
    this.#nextAt = at;
    this.#next = setTimeout(() => void this.#ask(), at - Date.now());
  }

  async #ask() {
    this.#nextAt = Number.POSITIVE_INFINITY;
    this.#isAsking = true;
    this.#isAskedAgain = false;
    const start = Date.now();
    const paths = this.#paths;
    const isConstant = (/** @type {string} */ path) => path === CONTROLLER && this.#known.has(path);
    const silences = await Promise.all(paths.map((path) => (isConstant(path) ? '' : this.#askFor(path))));
    this.#silence = silences.find((reason) => reason !== '') ?? '';
    this.#tookMs = Date.now() - start;
    this.#isAsking = false;
    this.#onChange();
    if (paths !== this.#paths) this.#soon(0);
    else if (this.#isAskedAgain) this.#soon(GATHER_MS);
    else this.#soon(this.#isStreaming ? POLL_MS.withStream : POLL_MS.without);
  }

  /** Returns why there is no answer; empty if there is one. @param {string} path */
  async #askFor(path) {
    const etag = this.#known.get(path)?.etag;
    try {
      const headers = etag == null ? undefined : { 'If-None-Match': etag };
      const init = { cache: /** @type {const} */ ('no-store'), signal: AbortSignal.timeout(ANSWER_MS) };
      const response = await fetch(`${this.#api}${path}`, headers === undefined ? init : { ...init, headers });
      return await this.#take(path, response);
    } catch (error) {
      return error instanceof Error && error.name === 'TimeoutError' ? 'it does not answer' : 'it cannot be reached';
    }
  }

  /** @param {string} path @param {Response} response */
  async #take(path, response) {
    const { status, headers } = response;
    const body = status === 304 ? undefined : await response.json().catch(() => ({ message: `it answered ${status}` }));
    if (status >= 500 && !path.startsWith(SLOW)) return String(body.message);
    this.#heard = Date.now();
    this.#skewMs = skewBy(headers.get('Date'));
    if (status === 304) return '';
    if (status === 200) {
      this.#known.set(path, { body, etag: headers.get('ETag') });
      this.#failed.delete(path);
      this.#onChange();
    } else {
      this.#known.delete(path);
      this.#failed.set(path, { status, message: String(body.message) });
    }
    return '';
  }
}

/** Returns the clock difference. The header has whole seconds, so a difference below two is ignored. @param {string | null} date */
function skewBy(date) {
  const skew = date === null ? 0 : Date.parse(date) - Date.now();
  return Math.abs(skew) < 2_000 ? 0 : skew;
}
