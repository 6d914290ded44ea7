// Connects a standby to the leader over TLS. Each side gets the certificate of the other from the database.
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { Agent, request } from 'node:https';
import { isIP } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import type { KeyPair } from '../base/development-pki.ts';
import { reasonOf } from '../base/wording.ts';
import { ServiceError } from '../model/service-error.ts';

/** A request of a client, without its body. */
export interface Question {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
}

/** The address at which a replica answers other replicas, from the database. */
export interface PeerPlace {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** SHA-256 of its certificate, in Node's notation. */
  readonly fingerprint: string;
}

interface LeaderLinkOptions {
  /** The key and certificate of this replica. */
  readonly identity: KeyPair;
  /** Resolves with the address of the leader; undefined if there is none. Throws if the lookup fails. */
  readonly find: () => Promise<PeerPlace | undefined>;
  /** How long a write waits for a leader, in milliseconds. */
  readonly waitMs: number;
}

const CONNECT_MS = 5_000;
/** The timeout of a silent connection: longer than a proxy may wait for actions. */
const SILENT_MS = 90_000;

/** The interval of lookups while a write waits for a leader. */
const LOOK_MS = 200;

/** The connections of this replica to the leader. */
export class LeaderLink {
  readonly #find: LeaderLinkOptions['find'];
  readonly #waitMs: number;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #stopping = new AbortController();

  constructor({ identity, find, waitMs }: LeaderLinkOptions) {
    this.#find = find;
    this.#waitMs = waitMs;
    // The agent passes the extra options of `ask` on.
    this.#agent.createConnection = (options, done = () => undefined) =>
      connectPinned(options as PeerPlace, identity, done);
  }

  /**
   * Sends a request, and resolves with the head of its answer. `gone` aborts it. A write waits up to `waitMs` for a
   * leader. Throws ServiceError `not_ready` if nothing was done, and `outcome_unknown` if the connection breaks during
   * a write.
   */
  async ask(question: Question, body: Readable, gone: AbortSignal): Promise<IncomingMessage> {
    const end = performance.now() + (isReading(question) ? 0 : this.#waitMs);
    for (;;) {
      try {
        return await this.#askOnce(question, body, gone);
      } catch (error) {
        const isOver = performance.now() >= end || gone.aborted || this.#stopping.signal.aborted;
        const isNotDone = error instanceof ServiceError && error.code === 'not_ready';
        if (isOver || !isNotDone) {
          // Drain the body, so that the client's connection can be used again.
          body.resume();
          throw error;
        }
      }
      await sleep(LOOK_MS);
    }
  }

  async #askOnce(question: Question, body: Readable, gone: AbortSignal): Promise<IncomingMessage> {
    const stopping = this.#stopping.signal;
    if (stopping.aborted) throw notDone('This replica is stopping');
    const place = await this.#find().catch((error) => {
      throw notDone(reasonOf(error));
    });
    if (place === undefined) throw notDone('No replica leads');
    const signal = isReading(question) ? AbortSignal.any([gone, stopping]) : gone;
    const outgoing = request({ ...question, ...place, signal, setHost: false, agent: this.#agent });
    outgoing.setTimeout(SILENT_MS, () => outgoing.destroy(new Error(`it was silent for ${SILENT_MS / 1_000} s`)));
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    let isConnected = false;
    outgoing.once('socket', () => {
      isConnected = true;
      body.pipe(outgoing);
      // Drain the part of the body that the leader does not read.
      outgoing.once('close', () => body.unpipe(outgoing).resume());
    });
    outgoing.once('response', resolve);
    outgoing.on('error', (error) => {
      reject(isConnected ? failureOf(question, reasonOf(error)) : unreachable(place, reasonOf(error)));
    });
    return await promise;
  }

  /** Aborts reads, and refuses new requests. Running writes still get their answer. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Closes all connections, including one to a leader that does not answer. Later requests open new ones. */
  close(): void {
    this.#agent.destroy();
  }
}

/** Returns whether a request changes nothing. */
export function isReading({ method }: { readonly method?: string | undefined }): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Connects, and passes the connection on only after the other side has presented the expected certificate. */
function connectPinned(
  { host, port, fingerprint }: PeerPlace,
  identity: KeyPair,
  done: (error: Error | null, socket: Duplex) => void,
): undefined {
  const servername = isIP(host) === 0 ? host : '';
  const socket = connect({ ...identity, host, port, servername, rejectUnauthorized: false });
  const fail = (error: Error): void => done(error, socket);
  socket.setTimeout(CONNECT_MS, () => socket.destroy(new Error('it does not answer')));
  socket.once('error', fail);
  socket.once('secureConnect', () => {
    socket.setTimeout(0);
    socket.removeAllListeners('timeout');
    if (socket.getPeerX509Certificate()?.fingerprint256 === fingerprint) {
      socket.off('error', fail);
      done(null, socket);
    } else socket.destroy(new Error('its certificate differs from the one in the database'));
  });
}

/** Returns the error for a request that had no effect. */
export function notDone(reason: string): ServiceError {
  return new ServiceError('not_ready', `${reason.replace(/\.$/, '')}. Nothing was done; try again`);
}

function unreachable({ name, host, port }: PeerPlace, reason: string): ServiceError {
  return notDone(`The leader "${name}" at ${host}:${port} cannot be reached: ${reason}`);
}

function failureOf(question: Question, reason: string): ServiceError {
  const broken = `The connection to the leader broke: ${reason}`;
  if (isReading(question)) return notDone(broken);
  return new ServiceError(
    'outcome_unknown',
    `${broken}. It is unknown whether the request was carried out: check before you repeat it. The commit of a write has ` +
      `the line "Treeline-Request-Id: ${question.headers['x-request-id']}"`,
  );
}
