// Several replicas on one PostgreSQL, each a real `treeline serve` that reaches the database over a line of its own. They and
// the line can be killed, stopped and cut; when clients may fail for that is kept.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { isMap } from '../../src/model/json.ts';
import { type Ask, createHttpsClient, keepAll, type Reply } from './https-client.ts';
import { markingEntry } from './marking-server.ts';
import type { PostgresServer } from './postgres-server.ts';
import { type Relay, startRelay } from './relay.ts';
import { ServingProcess } from './serving-process.ts';
import { createSiteIn, type Site } from './site-on-disk.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export const LEASE_MS = 2_000;
/** The exit code of a leader that has lost the lease. */
const LEASE_LOST = 4;
const READY = { timeout: 60_000, interval: 50 };

/** A time by `performance.now`; without an end while it lasts. */
export interface Span {
  readonly from: number;
  to?: number;
}

/** Returns whether a time meets one of these. */
export function meets(spans: readonly Span[], from: number, to: number): boolean {
  return spans.some((span) => span.from <= to && (span.to ?? Number.POSITIVE_INFINITY) >= from);
}

/** One replica, which may not be running. */
export class ReplicaProcess {
  readonly name: string;
  /** The way to the database. */
  readonly relay: Relay;
  /** When it was killed, stopped or starting: what clients ask may fail. */
  readonly away: Span[] = [];
  /** The messages of its lines of level `error` and worse. */
  readonly errors: string[] = [];
  readonly #config: string;
  readonly #site: Site;
  readonly #agent = keepAll();
  #process: ServingProcess | undefined;
  #ports: { readonly api: number; readonly management: number } | undefined;

  constructor({ name, relay, config, site }: { name: string; relay: Relay; config: string; site: Site }) {
    this.name = name;
    this.relay = relay;
    this.#config = config;
    this.#site = site;
    onTestFinished(() => this.#agent.destroy());
  }

  /** Starts it, and resolves once it answers reads. */
  async start(): Promise<void> {
    const started = new ServingProcess(this.#config);
    this.#process = started;
    void started.exit().then((code) => this.#startAgain(started, code));
    const { api, management } = await started.logged('listening');
    this.#ports = { api: portOf(api), management: portOf(management) };
    await expect.poll(async () => (await this.health('/readyz')).status, READY).toBe(200);
  }

  /** As a supervisor does. It was away since it began to stop: then its ports close. */
  async #startAgain(ended: ServingProcess, code: number | null): Promise<void> {
    if (code !== LEASE_LOST || this.#process !== ended) return;
    const stopping = ended.lines.findLast(({ msg }) => msg === 'stopping');
    const span: Span = { from: Date.parse(String(stopping?.time)) - performance.timeOrigin };
    this.away.push(span);
    this.#keepErrors(ended);
    const starting = this.start();
    const started = this.#process;
    await starting.catch((error: unknown) => {
      // The test ended it before it was ready.
      if (this.#process === started) throw error;
    });
    span.to = performance.now();
  }

  #keepErrors({ lines }: ServingProcess): void {
    for (const { level, msg } of lines) if (Number(level) >= 50) this.errors.push(String(msg));
  }

  /** Ends it and starts it again. */
  async restart(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const span: Span = { from: performance.now() };
    this.away.push(span);
    await this.end(signal);
    await this.start();
    span.to = performance.now();
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const ending = this.#process;
    this.#process = undefined;
    const code = await ending?.end(signal);
    this.#ports = undefined;
    if (signal === 'SIGTERM') expect(code).toBeOneOf([0, LEASE_LOST]);
    if (code !== LEASE_LOST) expect(ending?.stderr).toBe('');
    if (ending !== undefined) this.#keepErrors(ending);
  }

  /** The machine sleeps for a while. */
  async stop(ms: number): Promise<void> {
    const span: Span = { from: performance.now() };
    this.away.push(span);
    this.#process?.signal('SIGSTOP');
    await sleep(ms);
    this.#process?.signal('SIGCONT');
    span.to = performance.now();
  }

  /** Nothing passes between it and the database for a while. */
  async cut(ms: number): Promise<void> {
    this.relay.cut();
    await sleep(ms);
    this.relay.mend();
  }

  /** Asks it as an administrator. Rejects where it is not running. */
  async request(path: string, ask?: Ask): Promise<Reply> {
    if (this.#ports === undefined) throw new Error(`${this.name} is not running`);
    const { ca, administrator } = this.#site;
    return await createHttpsClient({ port: this.#ports.api, ca }, administrator, this.#agent).request(path, ask);
  }

  /** Asks its management listener. Status 0: there was no answer. */
  async health(path: string): Promise<{ readonly status: number }> {
    if (this.#ports === undefined) return { status: 0 };
    const url = `http://127.0.0.1:${this.#ports.management}${path}`;
    const answer = await fetch(url, { signal: AbortSignal.timeout(1_000) }).catch(() => undefined);
    await answer?.arrayBuffer().catch(() => undefined);
    return { status: answer?.status ?? 0 };
  }
}

function portOf(address: unknown): number {
  return isMap(address) ? Number(address.port) : 0;
}

const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'stacks/templates/web.yaml': `parameters: { count: "", release: "" }
resources:
  web:
    type: Platform::ResourceGroup
    properties:
      count: "<<count>>"
      max_unavailable: "50%"
      resource_def: { properties: { release: "<<release>>" } }
`,
};

export type ReplicatedSite = Awaited<ReturnType<typeof startReplicas>>;

/** Starts replicas on an empty database of a server. They do not outlive the running test. */
export async function startReplicas(server: PostgresServer, names: readonly string[], leaseMs = LEASE_MS) {
  const folder = temporaryDirectory();
  /** Where marking-server.sh keeps its servers and its log. */
  const provided = join(folder, 'provided');
  const entry = markingEntry(provided, { seconds: 0.3, replica: 'NAME' });
  const site = await createSiteIn(join(folder, 'site'), {
    files: FILES,
    repository: ', pollSeconds: 1',
    provider: 'files',
    execution: `  concurrency: 20
  graceSeconds: 1
  deleteBudget: { percent: 100, least: 10000, most: 10000 }
  retry: { attempts: 20, firstSeconds: 1, maxSeconds: 2, failedSeconds: 2 }
  providers: [{ provider: exec, ${entry}, timeoutSeconds: 5, concurrency: 20 }]`,
  });
  /** The database, not over the lines of the replicas. */
  const url = await server.create();
  await server.run(AUDIT, url);
  const replicas: ReplicaProcess[] = [];
  for (const name of names) {
    const relay = await startRelay(server.port);
    writeFileSync(join(site.folder, `url-${name}`), url.replace(/:\d+\//, `:${relay.port}/`), { mode: 0o600 });
    mkdirSync(join(site.folder, `state-${name}`), { mode: 0o700 });
    const config = join(site.folder, `treeline-${name}.yaml`);
    const text = readFileSync(site.config, 'utf8')
      .replace(/^store: .*$/m, `store: { kind: postgres, urlFile: url-${name}, directory: state-${name} }`)
      .replace('"NAME"', `"${name}"`);
    writeFileSync(config, `${text}replica: { name: ${name}, leaseSeconds: ${leaseMs / 1_000} }\n`);
    replicas.push(new ReplicaProcess({ name, relay, config, site }));
  }
  await Promise.all(replicas.map((replica) => replica.start()));
  return { site, provided, server, url, replicas };
}

/** Has the database keep which connection changed the state, and which changed rows, with the fencing number at that moment. */
const AUDIT = `
  CREATE SCHEMA audit;
  CREATE TABLE audit.states (id bigserial, replica text, fencing bigint, former bigint, revision bigint, revised bigint);
  CREATE TABLE audit.writes (id bigserial, replica text, fencing bigint);
  CREATE FUNCTION audit.keep_state() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    INSERT INTO audit.states (replica, fencing, former, revision, revised)
    VALUES (current_setting('application_name'), NEW.fencing, OLD.fencing, NEW.revision, NEW.revision - OLD.revision);
    RETURN NULL;
  END $$;
  CREATE FUNCTION audit.keep_write() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    INSERT INTO audit.writes (replica, fencing) SELECT current_setting('application_name'), fencing FROM treeline.state;
    RETURN NULL;
  END $$;
  CREATE TRIGGER kept AFTER UPDATE OF revision, fencing ON treeline.state FOR EACH ROW EXECUTE FUNCTION audit.keep_state();
  CREATE TRIGGER kept AFTER INSERT OR UPDATE OR DELETE ON treeline.rows FOR EACH STATEMENT EXECUTE FUNCTION audit.keep_write();
`;

/** Checks what the database has kept of its changes, and returns how many fencing numbers there were. */
export async function expectFenced({ server, url }: ReplicatedSite): Promise<number> {
  const states = await server.run('SELECT * FROM audit.states ORDER BY id', url);
  const writes = await server.run('SELECT DISTINCT replica, fencing FROM audit.writes', url);
  const owners = new Map<unknown, unknown>();
  const faults: string[] = [];
  for (const { replica, fencing, former, revised } of states) {
    if (Number(fencing) < Number(former)) faults.push(`${fencing} after ${former}`);
    if (Number(revised) < 0 || Number(revised) > 1) faults.push(`the revision changed by ${revised}`);
    if (fencing !== former) owners.set(fencing, replica);
    else if (owners.get(fencing) !== replica) faults.push(`${replica} committed with ${fencing}`);
  }
  for (const { replica, fencing } of writes) {
    if (owners.get(fencing) !== replica) faults.push(`${replica} changed rows with ${fencing}`);
  }
  expect.soft(faults).toEqual([]);
  return owners.size;
}
