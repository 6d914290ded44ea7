// Opens the parts with which a replica answers other replicas: its own key and certificate, a listener, and its row in
// the database with the address and the certificate.
import type { RequestListener } from 'node:http';
import { connect } from 'node:net';
import type { PeerPlace } from '../api/leader-link.ts';
import { startPeerListener } from '../api/peer-listener.ts';
import type { Clock } from '../base/clock.ts';
import { createAuthority, issueServerCertificate, type KeyPair } from '../base/development-pki.ts';
import type { ListenAddress, Listening } from '../base/listen.ts';
import type { Logger } from '../base/log.ts';
import type { ReplicaSettings } from '../model/settings.ts';
import type { DatabaseOptions } from '../store/postgres/connection.ts';
import { readDatabaseUrl } from '../store/postgres/database-url.ts';
import type { Leader, Lease } from '../store/postgres/lease.ts';
import { Replicas } from '../store/postgres/replicas.ts';

/** The access to other replicas, and theirs to this one. */
export interface Peers {
  readonly identity: KeyPair;
  /** Resolves with the address of a leader; undefined if unknown. Throws StoreError. */
  readonly find: (leader: Leader) => Promise<PeerPlace | undefined>;
  /** Refuses new requests of other replicas, which then look for another leader. Running ones are answered. */
  readonly refuse: () => void;
  /** Returns the differences between the replicas, if this one leads. */
  readonly trouble: () => Replicas['trouble'];
}

interface PeersParts {
  readonly replica: ReplicaSettings;
  /** See Replicas. */
  readonly settings: Readonly<Record<string, string>>;
  readonly lease: Lease;
  readonly handler: RequestListener;
  readonly clock: Clock;
  readonly log: Logger;
  /** Closes all parts. */
  readonly opened: AsyncDisposableStack;
}

const DAYS = 3650;
const CONNECT_MS = 5_000;
const LOOPBACK = /^(?:127\.|::1$|::ffff:127\.)/;

/** Opens these parts. Throws StoreError if the database cannot be used. */
export async function openPeers(database: DatabaseOptions, parts: PeersParts): Promise<Peers> {
  const { replica, settings, lease, handler, clock, log, opened } = parts;
  const { name } = replica;
  const now = clock.now();
  // The key of the authority is not kept.
  const authority = await createAuthority({ commonName: name, now, days: DAYS });
  const { fingerprint, ...identity } = await issueServerCertificate(authority, { hosts: [name], now, days: DAYS });
  let replicas: Replicas | undefined;
  const isPeer = async (shown: string): Promise<boolean> => (await replicas?.isPeer(shown)) ?? false;
  const place = await placeOf(replica, database);
  const listening = await startPeerListener({ identity, isPeer, handler, host: place.bound, port: place.port });
  opened.adopt(listening, (it: Listening) => it.close());
  const address = `${place.host.includes(':') ? `[${place.host}]` : place.host}:${listening.port}`;
  const isAlone = replica.address === null && LOOPBACK.test(place.host);
  const own = { name, address, certificate: fingerprint, isAlone };
  replicas = opened.adopt(new Replicas(database, { ...own, settings, lease, clock, log }), (it) => it.close());
  await replicas.start();
  const recorded = replicas;
  const find: Peers['find'] = async (leader) => placeOfPeer(await recorded.find(leader));
  return { identity, find, refuse: () => void listening.close(), trouble: () => recorded.trouble };
}

function placeOfPeer(peer: Awaited<ReturnType<Replicas['find']>>): PeerPlace | undefined {
  return peer && { ...splitAddress(peer.address), name: peer.name, fingerprint: peer.certificate };
}

/** Resolves with this replica's address: the setting, or the address from which it reaches the database. */
async function placeOf(
  { address }: ReplicaSettings,
  { url, ca }: DatabaseOptions,
): Promise<ListenAddress & { readonly bound: string }> {
  // A host name may belong to any interface, so the listener binds to all of them.
  if (address !== null) return { ...splitAddress(address), bound: '' };
  const host = await ownAddressFor(readDatabaseUrl(url, ca !== undefined).address);
  return { host, port: 0, bound: host };
}

/** Returns host and port; 0: any free one. */
function splitAddress(text: string): ListenAddress {
  const [, host = text, port = '0'] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(text) ?? [];
  return { host, port: Number(port) };
}

/** Resolves with the address from which this machine reaches another one; loopback for a socket or if it cannot. */
async function ownAddressFor({ host, port }: ListenAddress): Promise<string> {
  if (host.startsWith('/')) return '127.0.0.1';
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect({ host, port, timeout: CONNECT_MS });
  socket.once('connect', () => {
    resolve(socket.localAddress ?? '127.0.0.1');
    socket.destroy();
  });
  socket.on('timeout', () => socket.destroy());
  socket.on('error', () => undefined);
  socket.once('close', () => resolve('127.0.0.1'));
  return await promise;
}
