// Starts the REST interface: the application behind its TLS listener.
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { Agent } from '../service/agent.ts';
import type { Explainer } from '../service/explain/explainer.ts';
import type { Operator } from '../service/operate/operator.ts';
import type { CommitWait } from '../service/read/commit-wait.ts';
import type { Reader } from '../service/read/reader.ts';
import type { Writer } from '../service/write/writer.ts';
import { createApp } from './app.ts';
import { type Listener, startListener } from './listener.ts';
import type { AgentRoutes } from './routes/agent.ts';
import { judgeClients } from './tls/judge-clients.ts';
import type { TlsMaterial } from './tls/tls-material.ts';

interface ApiOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly tls: TlsMaterial;
  readonly reader: Reader;
  readonly operator: Operator;
  readonly explainer: Explainer;
  readonly writer: Writer;
  readonly commits: Pick<CommitWait, 'reached'>;
  readonly agent: Agent;
  readonly readAnswer: AgentRoutes['readAnswer'];
  readonly clock: Clock;
  readonly log: Logger;
}

/** Returns the REST interface, which answers from now on. Throws where the address is taken or the TLS material is wrong. */
export async function startApi(options: ApiOptions): Promise<Listener> {
  const { host, port, tls, clock, log } = options;
  const clients = judgeClients(tls);
  const app = createApp({ ...options, judge: clients.judge });
  const listener = await startListener({ host, port, tls, handler: app, log, clock });
  return {
    ...listener,
    reload(next) {
      listener.reload(next);
      clients.reload(next);
    },
  };
}
