// Connects a standby to the leader: over TLS, where each side knows the certificate of the other from the database.
import type { ClientRequest, OutgoingHttpHeaders } from 'node:http';
import { Agent, request } from 'node:https';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
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

/** Where a replica answers the others, as it has written it into the database. */
export interface PeerPlace {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** SHA-256 of its certificate, as Node writes it. */
  readonly fingerprint: string;
}

interface LeaderLinkOptions {
  /** The key and certificate of this replica. */
  readonly identity: KeyPair;
  /** Resolves with the place of the leader; undefined if none leads. Throws if it cannot be looked up. */
  readonly find: () => Promise<PeerPlace | undefined>;
}

const CONNECT_MS = 5_000;
/** Longer than a proxy may wait for actions. */
const SILENT_MS = 90_000;
const OPEN_MAX = 2_500;
const STOPPING = 'This replica is stopping';

/** The connections of this replica to the leader. */
export class LeaderLink {
  readonly #options: LeaderLinkOptions;
  readonly #open = new Set<ClientRequest>();
  #agent: { readonly key: string; readonly agent: Agent } | undefined;
  #isStopped = false;

  constructor(options: LeaderLinkOptions) {
    this.#options = options;
  }

  /** Resolves with a request whose connection is there. Throws ServiceError `not_ready` if there is none. */
  async open(question: Question): Promise<ClientRequest> {
    if (this.#isStopped) throw notDone(STOPPING);
    if (this.#open.size >= OPEN_MAX) throw notDone('Too many requests wait for the leader');
    const place = await this.#options.find().catch((error) => {
      throw notDone(reasonOf(error));
    });
    if (place === undefined) throw notDone('No replica leads');
    const { host, port, name } = place;
    const asked = request({ ...question, host, port, setHost: false, agent: this.#agentFor(place) });
    this.#open.add(asked);
    asked.once('close', () => this.#open.delete(asked));
    asked.setTimeout(SILENT_MS, () => asked.destroy(new Error(`it was silent for ${SILENT_MS / 1_000} s`)));
    const { promise, resolve, reject } = Promise.withResolvers<ClientRequest>();
    asked.once('socket', () => resolve(asked));
    asked.on('error', (error) => {
      reject(notDone(`The leader "${name}" at ${host}:${port} cannot be reached: ${reasonOf(error)}`));
    });
    return await promise;
  }

  /** Ends requests that only read, and refuses new ones. Those that write are answered yet. */
  stop(): void {
    this.#isStopped = true;
    for (const asked of this.#open) {
      if (asked.method === 'GET' || asked.method === 'HEAD') asked.destroy(new Error(STOPPING));
    }
  }

  /** Ends all connections, also that to a leader which does not answer. Later requests open new ones. */
  close(): void {
    this.#agent?.agent.destroy();
    this.#agent = undefined;
  }

  /** Connections to an earlier leader end. */
  #agentFor(place: PeerPlace): Agent {
    const key = `${place.host} ${place.port} ${place.fingerprint}`;
    if (this.#agent?.key === key) return this.#agent.agent;
    this.close();
    const agent = new PinnedAgent(this.#options.identity, place);
    this.#agent = { key, agent };
    return agent;
  }
}

/** Sends nothing before the other side has shown the expected certificate. */
class PinnedAgent extends Agent {
  readonly #identity: KeyPair;
  readonly #place: PeerPlace;

  constructor(identity: KeyPair, place: PeerPlace) {
    super({ keepAlive: true });
    this.#identity = identity;
    this.#place = place;
  }

  override createConnection(_options: unknown, done: (error: Error | null, socket: Duplex) => void): undefined {
    const { host, port, fingerprint } = this.#place;
    const servername = isIP(host) === 0 ? host : '';
    const socket = connect({ ...this.#identity, host, port, servername, rejectUnauthorized: false });
    const fail = (error: Error): void => done(error, socket);
    socket.setTimeout(CONNECT_MS, () => socket.destroy(new Error('it does not answer')));
    socket.once('error', fail);
    socket.once('secureConnect', () => {
      socket.setTimeout(0);
      socket.removeAllListeners('timeout');
      if (socket.getPeerX509Certificate()?.fingerprint256 === fingerprint) {
        socket.off('error', fail);
        done(null, socket);
      } else socket.destroy(new Error('it has another certificate than the database says'));
    });
  }
}

/** Returns the error for a request of which nothing was done. */
export function notDone(reason: string): ServiceError {
  return new ServiceError('not_ready', `${reason.replace(/\.$/, '')}. Nothing was done; ask again`);
}
