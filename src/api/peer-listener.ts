// Creates the listener for requests that other replicas forward. A peer has a certificate that a replica has written
// into the database, and may name the client of a request. A standby refuses such requests.
import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import type { KeyPair } from '../base/development-pki.ts';
import { type ListenAddress, type Listening, listenOn } from '../base/listen.ts';
import { ServiceError } from '../model/service-error.ts';
import { sendError } from './errors.ts';
import { closeGently, createLimited, TIME_LIMITS } from './listener.ts';
import { presentForwarded } from './peer.ts';

interface PeerListenerOptions extends ListenAddress {
  /** The key and certificate of this replica. */
  readonly identity: KeyPair;
  /** Resolves with whether a replica has a certificate with this SHA-256. Never rejects. */
  readonly isPeer: (fingerprint: string) => Promise<boolean>;
  readonly handler: RequestListener;
}

/** Space for a certificate in addition to the headers of a client. */
const HEADER_BYTES_MAX = 32 * 1024;
const UNKNOWN =
  'The leader does not know the certificate of the replica that forwarded this request. Nothing was done; try again';

/** Returns the listener. Throws if the address is in use. */
export async function startPeerListener(options: PeerListenerOptions): Promise<Listening> {
  const { identity, isPeer, handler } = options;
  const server = createLimited(TIME_LIMITS, {
    ...identity,
    minVersion: 'TLSv1.3',
    // The certificates are self-signed: the database has the list of valid ones.
    rejectUnauthorized: false,
    requireHostHeader: false,
    maxHeaderSize: HEADER_BYTES_MAX,
  });
  const judged = new WeakMap<Socket, Promise<boolean>>();
  server.on('secureConnection', (socket) => {
    const fingerprint = socket.getPeerX509Certificate()?.fingerprint256;
    judged.set(socket, fingerprint === undefined ? Promise.resolve(false) : isPeer(fingerprint));
  });
  server.on('request', async (request, response) => {
    try {
      if (!(await judged.get(request.socket))) throw new ServiceError('not_ready', UNKNOWN);
      presentForwarded(request);
      handler(request, response);
    } catch (error) {
      // Close, so that the next connection is judged again.
      response.setHeader('connection', 'close');
      const message = 'The forwarded certificate cannot be read';
      sendError(response, error instanceof ServiceError ? error : { code: 'unauthorized', message });
    }
  });
  const { address, port } = await listenOn(server, options, 'replica.address');
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= closeGently(server, TIME_LIMITS.closeMs);
    return closing;
  };
  return { host: address, port, close };
}
