// The load balancer of `npm run cluster`: passes each TLS connection to the next replica that answers /readyz with
// 200. It does not terminate TLS, so clients present their certificates to the replica.
import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { pipeline } from 'node:stream';

/** The addresses of a replica. */
export interface Target {
  readonly name: string;
  readonly apiPort: number;
  readonly managementPort: number;
}

const HOST = '127.0.0.1';
const ANSWER_MS = 1_000;

/** Starts a balancer on a free port. */
export async function startBalancer(targets: readonly Target[]): Promise<Server> {
  let turn = 0;
  const server = createServer(async (socket) => {
    socket.on('error', () => socket.destroy());
    const at = turn++ % targets.length;
    for (const target of [...targets.slice(at), ...targets.slice(0, at)]) {
      if ((await statusOf(target, 'readyz')) !== 200) continue;
      const onward = connect(target.apiPort, HOST);
      // A broken connection ends the other one, so the error needs no handling.
      pipeline(socket, onward, () => undefined);
      pipeline(onward, socket, () => undefined);
      return;
    }
    socket.destroy();
  });
  await once(server.listen(0, HOST), 'listening');
  return server;
}

/** Resolves with the HTTP status of a replica's health check; null without an answer in time. */
export async function statusOf({ managementPort }: Target, path: 'leaderz' | 'readyz'): Promise<number | null> {
  const signal = AbortSignal.timeout(ANSWER_MS);
  const answer = await fetch(`http://${HOST}:${managementPort}/${path}`, { signal }).catch(() => null);
  await answer?.body?.cancel();
  return answer?.status ?? null;
}
