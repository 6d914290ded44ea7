// The load balancer of `npm run cluster`: it asks every replica for /leaderz and /readyz, as one in front of a real installation does, and
// passes TLS connections through to those that are ready, in turn. It ends no TLS, so clients still show their certificates to the replica.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A replica as the balancer reaches it. */
export interface Target {
  readonly name: string;
  readonly apiPort: number;
  readonly managementPort: number;
}

/** What a replica has answered: HTTP statuses, null where nothing came in time. */
export interface Health {
  readonly leaderz: number | null;
  readonly readyz: number | null;
}

/** A running balancer. */
export interface Balancer {
  readonly port: number;
  close(): Promise<void>;
}

const HOST = '127.0.0.1';
const LOOK_MS = 250;
const ANSWER_MS = 1_000;

/** Starts a balancer. `onHealth` is told of every look, by the name of the replica; it must not throw. */
export async function startBalancer(
  targets: readonly Target[],
  onHealth: (healths: ReadonlyMap<string, Health>) => void,
): Promise<Balancer> {
  const stopping = new AbortController();
  const sockets = new Set<Socket>();
  let healths: ReadonlyMap<string, Health> = new Map();
  let turn = 0;
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    return socket;
  };
  const server = createServer((socket) => {
    keep(socket);
    const ready = targets.filter(({ name }) => healths.get(name)?.readyz === 200);
    const target = ready[turn++ % Math.max(1, ready.length)];
    if (target === undefined) {
      socket.destroy();
      return;
    }
    const onward = keep(connect(target.apiPort, HOST));
    socket.pipe(onward).pipe(socket);
    socket.on('close', () => onward.destroy());
    onward.on('close', () => socket.destroy());
  });
  server.listen(0, HOST);
  await once(server, 'listening');
  const address = server.address();
  async function look(): Promise<void> {
    while (!stopping.signal.aborted) {
      const found = await Promise.all(targets.map(async (target) => [target.name, await healthOf(target)] as const));
      if (stopping.signal.aborted) return;
      healths = new Map(found);
      onHealth(healths);
      await sleep(LOOK_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }
  const looking = look();
  return {
    port: typeof address === 'object' ? (address?.port ?? 0) : 0,
    async close() {
      stopping.abort();
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await Promise.all([closed, looking]);
    },
  };
}

async function healthOf({ managementPort }: Target): Promise<Health> {
  const statusAt = async (path: string): Promise<number | null> => {
    try {
      const answer = await fetch(`http://${HOST}:${managementPort}/${path}`, {
        signal: AbortSignal.timeout(ANSWER_MS),
      });
      await answer.body?.cancel();
      return answer.status;
    } catch (error) {
      // It is not there, or hangs.
      if (error instanceof Error) return null;
      throw error;
    }
  };
  const [leaderz, readyz] = await Promise.all([statusAt('leaderz'), statusAt('readyz')]);
  return { leaderz, readyz };
}
